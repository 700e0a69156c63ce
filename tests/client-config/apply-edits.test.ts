/** Files of clients are written only as they were read, and given back: concurrent changes, read-only files, links, other encodings. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { applyEdits, applyUndo, planUndo } from '../../src/client-config/apply-edits.ts';
import { installedPlaces } from '../../src/client-config/client-places.ts';
import type { ClientId } from '../../src/client-config/client-table.ts';
import { planSetup, readClient } from '../../src/client-config/setup-plan.ts';
import { openJournal } from '../../src/client-config/undo-journal.ts';
import { type FixtureHome, makeFixtureHome } from './fixture-homes.ts';

const START = { command: '/opt/mcpx', args: ['serve'], env: {} };
const TEXT =
  '{\n    "mcpServers": {\n        "a": { "command": "x", "env": { "KEY": "secret-1234567" } }\n    },\n    "n": 1\n}\n';

async function plan({ world }: FixtureHome, client: ClientId) {
  const states = await Promise.all(installedPlaces(client, world).map(readClient));
  const edits = await Promise.all(states.map((state) => planSetup(state, { start: START, remove: state.servers })));
  return edits.flatMap((edit) => edit ?? []);
}

test('a file that another program changed after the preview is not written', async () => {
  const home = makeFixtureHome();
  const file = home.write('.cursor/mcp.json', TEXT);
  const edits = await plan(home, 'cursor');
  writeFileSync(file, '{"mcpServers": {"new": {"command": "y"}}}');
  const journal = openJournal(home.own);
  const [applied] = await applyEdits(edits, journal);
  expect(applied?.error).toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('was changed by another program'),
  });
  expect(readFileSync(file, 'utf8')).toBe('{"mcpServers": {"new": {"command": "y"}}}');
  expect(journal.entries()).toEqual([]);
});

test('a file that was created or deleted meanwhile is a conflict too', async () => {
  const home = makeFixtureHome();
  const cursor = home.write('.cursor/mcp.json', TEXT);
  mkdirSync(join(home.world.home, '.warp'));
  const edits = [...(await plan(home, 'cursor')), ...(await plan(home, 'warp'))];
  unlinkSync(cursor);
  const warp = home.write('.warp/.mcp.json', '{}');
  const applied = await applyEdits(edits, openJournal(home.own));
  expect(applied.map(({ error }) => error?.code)).toEqual(['conflict', 'conflict']);
  expect(existsSync(cursor)).toBe(false);
  expect(readFileSync(warp, 'utf8')).toBe('{}');
});

test('a read-only file is refused, and the others are written', async () => {
  const home = makeFixtureHome();
  const locked = home.write('.cursor/mcp.json', TEXT);
  const other = home.write('.warp/.mcp.json', TEXT);
  chmodSync(locked, 0o444);
  const applied = await applyEdits(
    [...(await plan(home, 'cursor')), ...(await plan(home, 'warp'))],
    openJournal(home.own),
  );
  expect(applied.map(({ error }) => error?.message)).toEqual([`"${locked}" is read-only`, undefined]);
  expect(readFileSync(locked, 'utf8')).toBe(TEXT);
  expect(readFileSync(other, 'utf8')).toContain('/opt/mcpx');
});

test('a symbolic link stays a link, and its target is written and restored', async () => {
  const home = makeFixtureHome();
  const target = home.write('dotfiles/cursor.json', TEXT);
  const link = join(home.world.home, '.cursor/mcp.json');
  mkdirSync(dirname(link));
  symlinkSync(target, link);
  const journal = openJournal(home.own);
  await applyEdits(await plan(home, 'cursor'), journal);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, 'utf8')).toContain('/opt/mcpx');
  await applyUndo(await planUndo(journal, ['cursor']), journal);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, 'utf8')).toBe(TEXT);
});

test('UTF-16 stays UTF-16', async () => {
  const home = makeFixtureHome();
  const bytes = Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(TEXT, 'utf16le')]);
  const file = home.write('.cursor/mcp.json', bytes);
  const journal = openJournal(home.own);
  await applyEdits(await plan(home, 'cursor'), journal);
  expect(readFileSync(file).subarray(0, 2)).toEqual(Buffer.of(0xff, 0xfe));
  expect(readFileSync(file, 'utf16le')).toContain('/opt/mcpx');
  await applyUndo(await planUndo(journal, ['cursor']), journal);
  expect(readFileSync(file)).toEqual(bytes);
});

test('bytes that are not UTF-8 are refused before anything is planned', async () => {
  const home = makeFixtureHome();
  home.write('.cursor/mcp.json', Buffer.from('{"mcpServers": {"\xe9": {"command": "x"}}}', 'latin1'));
  await expect(plan(home, 'cursor')).rejects.toThrow('is not valid UTF-8');
});

test('the mode of a file stays, and backups are private', async () => {
  const home = makeFixtureHome();
  const file = home.write('.cursor/mcp.json', TEXT);
  chmodSync(file, 0o640);
  await applyEdits(await plan(home, 'cursor'), openJournal(home.own));
  expect(statSync(file).mode & 0o777).toBe(0o640);
  const folder = join(home.own, 'setup');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(readdirSync(folder)).toHaveLength(2);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
});

test('a backup without an entry is deleted by the next setup; one from before the journal stays', async () => {
  const home = makeFixtureHome();
  home.write('.cursor/mcp.json', TEXT);
  await applyEdits(await plan(home, 'cursor'), openJournal(home.own));
  const folder = join(home.own, 'setup');
  const [backup = ''] = readdirSync(folder).filter((name) => name !== 'journal.json');
  const left = join(folder, '2999-01-01T00-00-00-000Z-zed-01234567-settings.json');
  const older = join(folder, '2000-01-01T00-00-00-000Z-zed-01234567-settings.json');
  for (const file of [left, older]) writeFileSync(file, TEXT);
  const file = home.write('.codeium/windsurf/mcp_config.json', TEXT);
  await applyEdits(await plan(home, 'windsurf'), openJournal(home.own));
  expect(readFileSync(file, 'utf8')).toContain('/opt/mcpx');
  expect(existsSync(left)).toBe(false);
  expect(existsSync(older)).toBe(true);
  expect(existsSync(join(folder, backup))).toBe(true);
});

test('two setups are undone together', async () => {
  const home = makeFixtureHome();
  const file = home.write('.cursor/mcp.json', TEXT);
  const journal = openJournal(home.own);
  await applyEdits(await plan(home, 'cursor'), journal);
  const moved = { ...START, command: '/usr/bin/mcpx' };
  const [state] = await Promise.all(installedPlaces('cursor', home.world).map(readClient));
  const edit = await planSetup(state!, { start: moved, remove: [] });
  await applyEdits([edit!], journal);
  const plans = await planUndo(journal, ['cursor']);
  expect(plans).toEqual([expect.objectContaining({ isExact: true })]);
  await applyUndo(plans, journal);
  expect(readFileSync(file, 'utf8')).toBe(TEXT);
  expect(await planUndo(journal, ['cursor'])).toEqual([]);
});

test.each([
  ['cursor', '.cursor/mcp.json', TEXT, (text: string) => text.replace('"n": 1', '"n": 2')],
  [
    'codex',
    '.codex/config.toml',
    'n = 1\n\n[mcp_servers.a]\ncommand = "x"\n',
    (text: string) => text.replace('n = 1', 'n = 2'),
  ],
  [
    'goose',
    '.config/goose/config.yaml',
    'n: 1\nextensions:\n  a:\n    type: stdio\n    cmd: x\n',
    (text: string) => text.replace('n: 1', 'n: 2'),
  ],
  [
    'continue',
    '.continue/config.yaml',
    'n: 1\nmcpServers:\n  - name: a\n    command: x\n  - name: b\n    command: z\n',
    (text: string) => text.replace('n: 1', 'n: 2'),
  ],
] as const)(
  '%s: undo keeps what another program has changed since, and puts the servers back',
  async (client, path, text, change) => {
    const home = makeFixtureHome();
    const file = home.write(path, text);
    const journal = openJournal(home.own);
    await applyEdits(await plan(home, client), journal);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    const plans = await planUndo(journal, [client]);
    expect(plans).toEqual([expect.objectContaining({ isExact: false })]);
    await applyUndo(plans, journal);
    const [state] = await Promise.all(installedPlaces(client, home.world).map(readClient));
    expect(state?.own).toEqual([]);
    expect(state?.servers.map(({ name }) => name).sort()).toEqual(text.includes('name: b') ? ['a', 'b'] : ['a']);
    expect(readFileSync(file, 'utf8')).toMatch(/n"?(:| =) 2/);
  },
);

test('a damaged backup is not restored', async () => {
  const home = makeFixtureHome();
  const file = home.write('.cursor/mcp.json', TEXT);
  const journal = openJournal(home.own);
  const [applied] = await applyEdits(await plan(home, 'cursor'), journal);
  writeFileSync(applied!.backup!, 'other');
  await expect(planUndo(journal, ['cursor'])).rejects.toThrow('is missing or was changed');
  expect(readFileSync(file, 'utf8')).toContain('/opt/mcpx');
});

test('a mistake in the file of a client is reported, and the file stays', async () => {
  const home = makeFixtureHome();
  home.write('.codex/config.toml', '[mcp_servers.a\ncommand = "secret"');
  await expect(plan(home, 'codex')).rejects.toThrow(/config\.toml:\d+:\d+: the file is not valid TOML/);
});
