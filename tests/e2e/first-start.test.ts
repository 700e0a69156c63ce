/** The first start of mcpx with a client: which servers do not wait for others, and how often changes are announced. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PATIENCE } from '../setup/until.ts';
import { converse, emptyPlace, fixture, INITIALIZE, openSession, type Session } from './program.ts';

const LIST_CHANGED = 'notifications/tools/list_changed';
const MODULE = `export const tools = [{ name: 'greet', handler: () => 'hello' }];`;

const stdio = (...flags: string[]) => ({ command: process.execPath, args: [fixture('stdio.mjs'), ...flags] });
const menuOf = async (session: Session): Promise<string> =>
  (await session.request('tools/list')).result.tools[0].description;
const announced = ({ said }: Session) => said.stdout.split(LIST_CHANGED).length - 1;

test('built-in servers are listed, however many servers before them hang', async () => {
  const hung = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`hung-${index}`, stdio('hang-init')]));
  const builtins = Object.fromEntries(['time', 'math', 'memory'].map((name) => [name, { type: 'builtin' }]));
  const place = emptyPlace();
  const session = converse(['serve', place.file('mcp.json', { mcpServers: { ...hung, ...builtins } })], place);
  await session.request('initialize', INITIALIZE);
  await expect.poll(() => menuOf(session), { timeout: PATIENCE }).not.toMatch(/^(time|math|memory) \(not/m);
  const menu = await menuOf(session);
  for (const part of ['hung-11 (not listed yet)', 'convert_base', 'difference', 'search']) expect(menu).toContain(part);
});

test('a module is listed while servers hang that may not start together', async () => {
  const place = emptyPlace();
  place.file('desk.mjs', MODULE);
  const hung = Object.fromEntries(Array.from({ length: 3 }, (_, index) => [`hung-${index}`, stdio('hang-init')]));
  const session = await openSession(place, {
    mcpServers: { ...hung, desk: { type: 'module', module: './desk.mjs' } },
    connect: { concurrency: 1 },
  });
  await expect.poll(() => menuOf(session), { timeout: PATIENCE }).toContain('greet');
  expect(await session.exec('desk', 'greet')).toEqual({ text: 'hello', isError: false });
});

test('six servers that are late are announced once', async () => {
  const place = emptyPlace();
  const gate = join(place.cwd, 'gate');
  const late = { command: process.execPath, args: [fixture('lists.mjs'), `gate=${gate}`] };
  const mcpServers = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`late-${index}`, late]));
  const began = performance.now();
  const session = await openSession(place, { mcpServers: { ...mcpServers, time: { type: 'builtin' } } });
  const first = await menuOf(session);
  for (const name of Object.keys(mcpServers)) expect(first).toContain(`${name} (not listed yet)`);
  place.file('gate', '');
  await session.wrote('stdout', LIST_CHANGED);
  await expect.poll(() => menuOf(session), { timeout: PATIENCE }).not.toContain('not listed yet');
  // The call is answered after everything that was written before it.
  expect(await session.exec('late-5', 'echo')).toMatchObject({ isError: false });
  // On a machine that needs longer than 10 s for six starts, those of each 10 s are announced together.
  expect(announced(session)).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 10_000));
});
