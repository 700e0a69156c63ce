/** Catalogs on disk: known at once, checked when the server runs, never a secret, never a crash. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type CatalogStore,
  createCatalogStore,
  launchKey,
  readOnly,
  writeOnly,
} from '../../src/catalog/catalog-store.ts';
import { createLog } from '../../src/observe/log.ts';
import { createWorld, type Script, specOf } from '../world.ts';

const temp = () => join(mkdtempSync(join(tmpdir(), 'mcpx-store-')), 'cache');

/** The stores of earlier runs by their folder. */
const earlier = new Map<string, CatalogStore>();

/** Starts a run; the one before it in the same folder has written its catalogs. */
function open(folder: string, script: Script) {
  const told: string[] = [];
  earlier.get(folder)?.flush();
  const store = createCatalogStore({ folder, log: createLog({ write: (line) => told.push(line) }) });
  earlier.set(folder, store);
  let starts = 0;
  const connect = async () => {
    starts++;
    await script.connect?.();
  };
  const world = createWorld({ one: { ...script, connect } }, { store });
  return { ...world, store, told, starts: () => starts };
}

test('a second run knows the tools without starting the server', async () => {
  const folder = temp();
  const first = open(folder, { tools: [{ name: 'a', description: 'Does.' }], instructions: 'About it.' });
  await first.catalog.settle(1000);
  const second = open(folder, { tools: [{ name: 'a', description: 'Does.' }], instructions: 'About it.' });
  await second.catalog.settle(0);
  expect(second.catalog.server('one')).toMatchObject({
    listing: { kind: 'listed', from: 'store' },
    handshake: { instructions: 'About it.' },
    offer: { tools: [{ tool: { name: 'a', description: 'Does.' } }] },
  });
  expect(second.catalog.find('one', 'a')).toBeDefined();
  expect(second.starts()).toBe(0);
});

test('what quotes a secret of its server is not stored, and what was stored before is removed', () => {
  const folder = temp();
  const told: string[] = [];
  const store = createCatalogStore({ folder, log: createLog({ write: (line) => told.push(line) }) });
  const handshake = {
    era: 'legacy',
    protocolVersion: '1',
    capabilities: {},
    serverInfo: { name: 'x', version: '1' },
  } as const;
  const catalog = (description: string) => {
    const offer = {
      tools: [{ upstreamName: 'a', tool: { name: 'a', description } }],
      resources: [],
      templates: [],
      prompts: [],
    };
    return { at: 1, bySet: new Map([['', { handshake, offer: offer as never }]]) };
  };
  const spec = {
    ...specOf('one'),
    type: 'stdio',
    command: 'x',
    args: [],
    env: { DB: 'hunter2-hunter2' },
    envFile: [],
    framing: 'newline',
  } as const;
  store.write(spec as never, catalog('Does.'));
  store.flush();
  expect(readdirSync(folder)).toHaveLength(1);
  store.write(spec as never, catalog('Connected as me:hunter2-hunter2.'));
  store.flush();
  expect(readdirSync(folder)).toEqual([]);
  expect(told).toEqual([expect.stringContaining('server "one" offers is not stored')]);
  expect(told.join()).not.toContain('hunter2');
});

test('a tool that is known from the disk can be called at once', async () => {
  const folder = temp();
  await open(folder, { tools: [{ name: 'a' }] }).catalog.settle(1000);
  const { router, sent } = open(folder, { tools: [{ name: 'a' }] });
  await router.call({ server: 'one', tool: 'a', caller: { key: 'k', capabilities: {} } });
  expect(sent.map(({ method }) => method)).toEqual(['tools/call']);
});

test('what changed is found out when the server is connected, told, and stored', async () => {
  const folder = temp();
  await open(folder, { tools: [{ name: 'old' }] }).catalog.settle(1000);
  const second = open(folder, { tools: [{ name: 'new' }] });
  await second.catalog.settle(0);
  expect(second.catalog.find('one', 'old')).toBeDefined();
  second.catalog.connected('one');
  await expect.poll(() => second.changes).toEqual(['one']);
  expect(second.catalog.find('one', 'old')).toBeUndefined();
  const third = open(folder, {});
  await third.catalog.settle(0);
  expect(third.catalog.find('one', 'new')).toBeDefined();
});

test('a tool that is newer than the disk is found by asking the server', async () => {
  const folder = temp();
  await open(folder, { tools: [{ name: 'old' }] }).catalog.settle(1000);
  const { router, sent, starts } = open(folder, { tools: [{ name: 'old' }, { name: 'new' }] });
  await router.call({ server: 'one', tool: 'new', caller: { key: 'k', capabilities: {} } });
  expect(sent.map(({ params }) => params?.name)).toEqual(['new']);
  const before = starts();
  await expect(router.tool('one', 'missing')).rejects.toMatchObject({ code: 'not_found' });
  expect(starts()).toBe(before);
});

test('lists that their server says still hold are not asked for again', async () => {
  const folder = temp();
  let lists = 0;
  const answer = (ttlMs: number | undefined) => () => {
    lists++;
    return { tools: [{ name: 'a' }], ...(ttlMs !== undefined && { ttlMs }) };
  };
  await open(folder, { answer: answer(60_000) }).catalog.settle(1000);
  const second = open(folder, { answer: answer(undefined) });
  await second.catalog.settle(0);
  second.catalog.connected('one');
  expect(lists).toBe(1);
  await second.catalog.verify('one');
  second.catalog.connected('one');
  await expect.poll(() => lists).toBe(3);
});

test('what each set of capabilities was offered outlives the process', async () => {
  const folder = temp();
  const first = open(folder, { tools: [{ name: 'plain' }] });
  await first.catalog.settle(1000);
  first.catalog.connected('one', {
    name: 'one',
    spec: specOf('one'),
    offered: 'sampling',
    connect: async () => first.catalog.server('one')!.handshake!,
    request: async () => ({ tools: [{ name: 'samples' }] }),
  });
  await expect.poll(() => first.catalog.find('one', 'samples', 'sampling')).toBeDefined();
  const second = open(folder, {});
  await second.catalog.settle(0);
  expect(second.catalog.find('one', 'plain', '')).toBeDefined();
  expect(second.catalog.find('one', 'samples', '')).toBeUndefined();
  expect(second.catalog.find('one', 'samples', 'sampling')).toBeDefined();
  // Without a client, the set that was seen last.
  expect(second.catalog.find('one', 'samples')).toBeDefined();
});

test('a server that changed a definition while it kept its version is asked again before a session is shown anything, until its next version', async () => {
  const folder = temp();
  const start = (description: string) => open(folder, { tools: [{ name: 'a', description }] });
  const shown = ({ catalog }: ReturnType<typeof open>) => catalog.find('one', 'a', '')?.tool.description;
  /** A client whose server is not running yet, and will say this. */
  const client = ({ catalog }: ReturnType<typeof open>, description: string, version = '1.0.0') => ({
    offered: '',
    connectionTo: () => ({
      name: 'one',
      spec: specOf('one'),
      offered: '',
      handshake: undefined,
      connect: async () => ({ ...catalog.server('one')!.handshake!, serverInfo: { name: 'one', version } }),
      request: async () => ({ tools: [{ name: 'a', description }] }),
    }),
  });
  await start('first').catalog.settle(1000);
  const second = start('second');
  await second.catalog.settle(1000, client(second, 'second'));
  expect(shown(second)).toBe('first');
  second.catalog.connected('one');
  await expect.poll(() => shown(second)).toBe('second');

  const third = start('third');
  await third.catalog.settle(1000, { ...client(third, 'third'), stateless: true });
  expect(shown(third)).toBe('second');
  await third.catalog.settle(1000, client(third, 'third'));
  expect(shown(third)).toBe('third');

  const fourth = start('fourth');
  await fourth.catalog.settle(1000, client(fourth, 'fourth', '2.0.0'));
  expect(shown(fourth)).toBe('fourth');
  const fifth = start('fifth');
  await fifth.catalog.settle(1000, client(fifth, 'fifth', '2.0.0'));
  expect(shown(fifth)).toBe('fourth');
});

test('a tool that is newer than the disk is found for the set of capabilities of who asks', async () => {
  const folder = temp();
  const lister = ({ catalog }: ReturnType<typeof open>, tools: string[]) => ({
    name: 'one',
    spec: specOf('one'),
    offered: 'roots',
    connect: async () => catalog.server('one')!.handshake!,
    request: async () => ({ tools: tools.map((name) => ({ name })) }),
  });
  const first = open(folder, { tools: [{ name: 'old' }] });
  await first.catalog.settle(1000);
  first.catalog.connected('one', lister(first, ['old']));
  await expect.poll(() => first.catalog.find('one', 'old', 'roots')).toBeDefined();
  const second = open(folder, { tools: [{ name: 'old' }, { name: 'new' }] });
  await second.catalog.settle(0);
  await second.catalog.verify('one', lister(second, ['old', 'new']));
  expect(second.catalog.find('one', 'new', 'roots')).toBeDefined();
});

test('a server that cannot be reached keeps what is known of it', async () => {
  const folder = temp();
  await open(folder, { tools: [{ name: 'a' }] }).catalog.settle(1000);
  const down = open(folder, { connect: () => Promise.reject(new Error('down')) });
  await down.catalog.settle(0);
  down.catalog.connected('one');
  await expect.poll(() => down.catalog.server('one')?.listing.kind).toBe('failed');
  expect(down.catalog.find('one', 'a')).toBeDefined();
});

describe('files', () => {
  const fileIn = (folder: string) => {
    earlier.get(folder)?.flush();
    return join(folder, readdirSync(folder)[0] ?? '');
  };
  const setsIn = (file: string) => JSON.parse(readFileSync(file, 'utf8').split('\n')[0] ?? '').sets;

  const headOf = (tools: string, ...lines: string[]) =>
    [
      `{"format":3,"at":1,"sets":[{"offered":"","hello":{"era":"legacy","capabilities":{},"serverInfo":{}},"offer":{},"lists":{"tools":${tools},"resources":0,"templates":0,"prompts":0}}]}`,
      ...lines,
    ].join('\n');

  test.each([
    ['no JSON', 'nonsense'],
    ['another format', '{"format":99}'],
    ['damaged', '{"format":3,"at":1,"sets":[{"offered":"","hello":{},"offer":{},"tools":0}]}'],
    ['a foreign thing', '[1,2]'],
    ['without any set', '{"format":3,"at":1,"sets":[]}'],
    ['with a set that is none', '{"format":3,"at":1,"sets":[5]}'],
    ['without the number of tools', headOf('"many"')],
    ['cut in the middle', headOf('2', '{"upstreamName":"a","tool":{"name":"a"}}')],
    ['cut in a tool', headOf('1', '{"upstreamName":"a","tool":{"na')],
    ['tools of a set that is missing', headOf('{"of":3}')],
    ['lists that are missing', headOf('0,"x":0').replace('"prompts":0', '"p":0')],
    ['tools without names', headOf('1', '{"upstreamName":"a","tool":{}}')],
  ])('%s is ignored, said once, and written anew', async (_, text) => {
    const folder = temp();
    await open(folder, { tools: [{ name: 'a' }] }).catalog.settle(1000);
    const file = fileIn(folder);
    const good = setsIn(file);
    writeFileSync(file, text);
    const second = open(folder, { tools: [{ name: 'a' }] });
    await second.catalog.settle(1000);
    await second.catalog.ensure('one');
    expect(second.catalog.find('one', 'a')).toBeDefined();
    expect(second.told).toHaveLength(1);
    expect(second.told[0]).toContain(file);
    expect(setsIn(fileIn(folder))).toEqual(good);
  });

  test('that nobody has used for months are removed, and nothing else is', async () => {
    const folder = temp();
    await open(folder, { tools: [{ name: 'a' }] }).catalog.settle(1000);
    const file = fileIn(folder);
    const days = (count: number) => Date.now() / 1000 - count * 86_400;
    const stale = join(folder, `${'0'.repeat(32)}.json`);
    const recent = join(folder, `${'1'.repeat(32)}.json`);
    const foreign = join(folder, 'notes.json');
    for (const one of [stale, recent, foreign]) writeFileSync(one, '{}');
    utimesSync(stale, days(91), days(91));
    utimesSync(recent, days(89), days(89));
    utimesSync(foreign, days(1000), days(1000));
    const second = open(folder, { tools: [{ name: 'b' }] });
    await second.catalog.settle(1000);
    second.catalog.connected('one');
    await expect.poll(() => readFileSync(file, 'utf8')).toContain('"b"');
    expect(readdirSync(folder).sort()).toEqual([file, recent, foreign].map((one) => basename(one)).sort());
    expect(second.told).toEqual([]);
  });

  test('that are read stay, however long ago they were written', async () => {
    const folder = temp();
    await open(folder, { tools: [{ name: 'a' }] }).catalog.settle(1000);
    const file = fileIn(folder);
    const ago = (days: number) => Date.now() / 1000 - days * 86_400;
    utimesSync(file, ago(91), ago(91));
    const store = createCatalogStore({ folder, log: createLog({ level: 'silent' }) });
    const stored = store.read(specOf('one'))!;
    store.write(specOf('other'), stored);
    store.flush();
    expect(store.read(specOf('one'))).toEqual(stored);
    // A file that was written or read within a day is kept.
    utimesSync(file, ago(0.5), ago(0.5));
    const { mtimeMs } = statSync(file);
    store.read(specOf('one'));
    expect(statSync(file).mtimeMs).toBe(mtimeMs);
  });

  test('a folder that cannot be written is said once and hurts nobody', async () => {
    const blocker = mkdtempSync(join(tmpdir(), 'mcpx-store-'));
    writeFileSync(join(blocker, 'file'), '');
    const blocked = open(join(blocker, 'file', 'cache'), { tools: [{ name: 'a' }] });
    await blocked.catalog.settle(1000);
    expect(blocked.catalog.find('one', 'a')).toBeDefined();
    blocked.store.flush();
    expect(blocked.told).toHaveLength(1);
  });

  test.skipIf(process.platform === 'win32')('are for their owner only (needs POSIX modes)', async () => {
    const folder = temp();
    await open(folder, { tools: [] }).catalog.settle(1000);
    expect(statSync(fileIn(folder)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('hold nothing of the launch spec', async () => {
    const folder = temp();
    const spec = { type: 'stdio', command: 'secret-command', args: ['--token', 'hunter2'], env: { KEY: 'hunter2' } };
    await open(folder, { tools: [{ name: 'a' }], spec: spec as never }).catalog.settle(1000);
    const text = readFileSync(fileIn(folder), 'utf8');
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain('secret-command');
  });
});

test('another command, argument, variable or URL is another catalog; another name is not', () => {
  const base = specOf('a', { type: 'stdio', command: 'x', args: ['1'], env: {} } as never);
  const key = (change: object) => launchKey({ ...base, ...change } as never);
  const same = launchKey(base);
  expect(key({ name: 'b' })).toBe(same);
  for (const change of [{ command: 'y' }, { args: ['2'] }, { env: { A: '1' } }, { cwd: '/' }])
    expect(key(change)).not.toBe(same);
});

describe('thousands of tools', () => {
  const tools = Array.from({ length: 3000 }, (_, index) => ({ name: `tool_${index}`, description: 'x'.repeat(200) }));

  test('are read in steps, and a client that comes meanwhile gets them too', async () => {
    const folder = temp();
    await open(folder, { tools }).catalog.settle(1000);
    const second = open(folder, {});
    const [first, other] = [second.catalog.settle(1000), second.catalog.ensure('one')];
    expect(second.catalog.find('one', 'tool_2999')).toBeUndefined();
    await Promise.all([first, other]);
    expect(second.catalog.find('one', 'tool_2999')).toEqual({ upstreamName: 'tool_2999', tool: tools[2999] });
    expect(second.starts()).toBe(0);
  });

  test('that two kinds of clients see are in memory once, after a start too', async () => {
    const folder = temp();
    const first = open(folder, { tools });
    await first.catalog.settle(1000);
    first.catalog.connected('one', {
      name: 'one',
      spec: specOf('one'),
      offered: 'sampling',
      connect: async () => first.catalog.server('one')!.handshake!,
      request: async () => ({ tools: structuredClone(tools) }),
    });
    const shared = ({ catalog }: ReturnType<typeof open>) =>
      catalog.server('one', 'sampling')?.offer.tools === catalog.server('one', '')?.offer.tools;
    await expect.poll(() => first.catalog.server('one', 'sampling') !== first.catalog.server('one')).toBe(true);
    expect(shared(first)).toBe(true);
    const second = open(folder, {});
    await second.catalog.settle(1000);
    expect(shared(second)).toBe(true);
  });
});

test('a catalog that is not written yet is read by the next one of the same process', async () => {
  const folder = temp();
  const { catalog, store } = open(folder, { tools: [{ name: 'a' }] });
  await catalog.settle(1000);
  expect(readdirSync(join(folder, '..'))).toEqual([]);
  expect(store.handshake(specOf('one'))).toMatchObject({ era: 'legacy' });
  expect(store.read(specOf('one'))?.bySet.size).toBe(1);
  store.flush();
  expect(store.handshake(specOf('one'))).toMatchObject({ era: 'legacy' });
  expect(readdirSync(folder)).toHaveLength(1);
});

test('lists are written a moment after the last change', async () => {
  const folder = temp();
  const { catalog } = open(folder, { tools: [{ name: 'a' }] });
  await catalog.settle(1000);
  await expect.poll(() => existsSync(folder) && readdirSync(folder).length).toBe(1);
});

test('a store for live lists passes them on and has none; one that cannot be written has those of before', async () => {
  const folder = temp();
  const { catalog, store } = open(folder, { tools: [{ name: 'a' }] });
  await catalog.settle(1000);
  store.flush();
  const known = store.read(specOf('one')) ?? expect.fail('nothing is stored');
  const other = temp();
  const copy = createCatalogStore({ folder: other, log: createLog({ write: () => undefined }) });
  const live = writeOnly(copy);
  live.write(specOf('one'), known);
  live.flush();
  expect([live.read(specOf('one')), copy.read(specOf('one'))?.bySet.size]).toEqual([undefined, 1]);
  const fixed = readOnly(copy);
  fixed.write(specOf('two'), known);
  fixed.flush();
  expect(fixed.read(specOf('one'))?.bySet.size).toBe(1);
  expect(await fixed.load(specOf('one'))).toMatchObject({ at: known.at });
  expect(fixed.handshake(specOf('one'))).toMatchObject({ era: 'legacy' });
  expect(readdirSync(other)).toHaveLength(1);
});
