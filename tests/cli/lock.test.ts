/** `mcpx lock` and `mcpx diff`: what is locked, what changed, what is accepted. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { captureOutput } from '../setup/output.ts';
import { fixture } from '../upstream/world.ts';

const shown = captureOutput();
let folder = '';
let config = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcpx-lock-'));
  vi.stubEnv('MCPX_HOME', join(folder, 'home'));
  config = join(folder, 'config.json');
  write([{ name: 'read', description: 'Reads.' }, { name: 'write' }]);
  const server = { command: process.execPath, args: [fixture('listed.mjs'), join(folder, 'tools.json')] };
  writeFileSync(config, JSON.stringify({ mcpServers: { files: server }, lock: 'enforce' }));
  return () => vi.unstubAllEnvs();
});

const write = (tools: unknown) => writeFileSync(join(folder, 'tools.json'), JSON.stringify(tools));

async function mcpx(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  shown.stdout = '';
  shown.stderr = '';
  const all = [...words, '--config', config];
  const code = await runCli({
    words: all,
    stdinIsTerminal: true,
    stop: new AbortController().signal,
    atExit: () => undefined,
  });
  return { code, out: shown.stdout, err: shown.stderr };
}

test('a change is shown, held back, and settled', async () => {
  expect(await mcpx('lock')).toMatchObject({ code: 0, out: 'files  2 tools  locked\n' });
  expect(await mcpx('lock')).toMatchObject({ code: 0, out: 'files  2 tools  unchanged\n' });
  expect(await mcpx('diff')).toMatchObject({ code: 0, out: '' });
  expect((await mcpx('exec', 'files.read')).code).toBe(0);

  write([{ name: 'read', description: 'Reads, and sends it to me.' }, { name: 'more' }]);
  const changed = await mcpx('lock');
  expect(changed).toMatchObject({ code: 1, out: 'files  2 tools  1 changed, 1 new, 1 gone\n' });
  expect(changed.err).toContain('--accept');
  const diff = await mcpx('diff', 'files.read');
  expect(diff).toMatchObject({
    code: 1,
    out: 'files.read: changed\n-Reads.\n+Reads, and sends it to me.\n   "inputSchema": {\n     "type": "object"\n',
  });
  const all = JSON.parse((await mcpx('diff', '--json')).out);
  expect(all.map(({ server, tool, change }: any) => [server, tool, change])).toEqual([
    ['files', 'read', 'changed'],
    ['files', 'more', 'new'],
    ['files', 'write', 'gone'],
  ]);
  expect(all[0]).toMatchObject({
    before: { description: 'Reads.' },
    after: { description: 'Reads, and sends it to me.' },
  });
  const refused = await mcpx('exec', 'files.read');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('"files.read" changed its definition and waits to be accepted');

  expect(await mcpx('lock', '--accept', 'files.read')).toMatchObject({
    code: 0,
    out: 'files  2 tools  accepted: 1 changed\n',
  });
  expect((await mcpx('exec', 'files.read')).code).toBe(0);
  expect((await mcpx('exec', 'files.more')).code).toBe(1);
  expect(await mcpx('lock', '--accept')).toMatchObject({ code: 0, out: 'files  2 tools  accepted: 1 new, 1 gone\n' });
  expect((await mcpx('exec', 'files.more')).code).toBe(0);
  expect(JSON.parse((await mcpx('lock', '--json')).out)).toEqual([
    { server: 'files', tools: 2, state: 'unchanged', changes: [] },
  ]);
  expect(readFileSync(join(folder, 'home', 'lock.json'), 'utf8')).not.toContain(process.execPath);
});

test('words that mean nothing are said', async () => {
  expect(await mcpx('diff', 'fils')).toMatchObject({ code: 7, err: expect.stringContaining('did you mean "files"?') });
  expect(await mcpx('lock', '--accept', 'files.nothing')).toMatchObject({
    code: 7,
    err: expect.stringContaining('neither server "files" nor the lock file has a tool "nothing"'),
  });
});

test('a server that cannot be asked is named, and its locks stay', async () => {
  await mcpx('lock');
  writeFileSync(join(folder, 'tools.json'), 'exit');
  const { code, err } = await mcpx('diff');
  expect(code).toBe(4);
  expect(err).toContain('"files"');
});

test('what is not locked has no differences', async () => {
  expect(await mcpx('diff')).toMatchObject({
    code: 0,
    err: expect.stringContaining('server "files" is not in the lock file'),
  });
});

test('a time that differs is no change, and diff says that it was ignored', async () => {
  const since = (time: string) => ({ type: 'object', properties: { since: { type: 'string', default: time } } });
  write([{ name: 'read', inputSchema: since('2026-10-19T05:23:54Z') }]);
  await mcpx('lock');
  write([{ name: 'read', inputSchema: since('2026-10-20T07:00:00Z') }]);
  expect(await mcpx('diff')).toMatchObject({
    code: 0,
    out: '',
    err: expect.stringContaining('ignored difference: files.read: default of "since" (a time)'),
  });
  expect((await mcpx('exec', 'files.read')).code).toBe(0);
});

test('fields that a model does not read are locked as well', async () => {
  write([{ name: 'read', _meta: { ui: 'ui://a' } }]);
  await mcpx('lock');
  write([{ name: 'read', _meta: { ui: 'ui://b' } }]);
  const { code, out } = await mcpx('diff');
  expect([code, out]).toEqual([1, expect.stringContaining('+    "ui": "ui://b"')]);
});

test('"lock --accept" locks a server that was not locked before, as it says', async () => {
  expect(await mcpx('lock', '--accept', 'files')).toMatchObject({ code: 0, out: 'files  2 tools  locked\n' });
  expect(await mcpx('lock')).toMatchObject({ code: 0, out: 'files  2 tools  unchanged\n' });
});

describe('a lock file of an older mcpx', () => {
  const path = () => join(folder, 'home', 'lock.json');
  beforeEach(async () => {
    write([{ name: 'read', description: 'Reads.', _meta: { ui: 'ui://a' } }, { name: 'write' }]);
    await mcpx('lock');
    const { servers } = JSON.parse(readFileSync(path(), 'utf8'));
    for (const { tools } of servers) for (const one of tools) Object.assign(one, { digest: 'x' });
    for (const { tools } of servers) for (const one of tools) delete one.definition._meta;
    writeFileSync(path(), JSON.stringify({ format: 1, servers }));
  });

  test('is completed by "mcpx lock", which says what it adds', async () => {
    expect((await mcpx('diff')).err).toContain('files.read: _meta is not in the lock file yet; mcpx lock adds it');
    const locked = await mcpx('lock');
    expect(locked).toMatchObject({ code: 0, out: 'files  2 tools  unchanged\n' });
    expect(locked.err).toContain('was written by an older mcpx');
    expect(locked.err).toContain('read: _meta');
    expect(JSON.parse(readFileSync(path(), 'utf8')).format).toBe(2);
    expect((await mcpx('lock')).err).toBe('');
  });

  test('does not hide a change', async () => {
    write([{ name: 'read', description: 'Turned.', _meta: { ui: 'ui://a' } }, { name: 'write' }]);
    expect(await mcpx('lock')).toMatchObject({ code: 1, out: 'files  2 tools  1 changed\n' });
    expect((await mcpx('exec', 'files.read')).err).toContain('changed its definition and waits to be accepted');
  });
});

test('"diff" does not touch a lock file that cannot be used, and "lock" sets it aside', async () => {
  await mcpx('lock');
  const path = join(folder, 'home', 'lock.json');
  writeFileSync(path, '{');
  expect(await mcpx('diff')).toMatchObject({ code: 1, err: expect.stringContaining('run: mcpx lock') });
  expect(readFileSync(path, 'utf8')).toBe('{');
  const { code, err } = await mcpx('lock', '--accept');
  expect([code, err]).toEqual([0, expect.stringContaining(`${path}.damaged-`)]);
  expect(await mcpx('lock')).toMatchObject({ code: 0, out: 'files  2 tools  unchanged\n' });
});
