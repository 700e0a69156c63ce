/** The library of the npm package, from source: a program runs the servers of a config. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, expectTypeOf, test } from 'vitest';
import type * as Published from '../packaging/npm/library.d.ts';
import { createApp, type McpxApp, McpxError } from '../src/library.ts';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-library-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open: McpxApp[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.stop()));
});

function start(...args: Parameters<typeof createApp>): McpxApp {
  const app = createApp(...args);
  open.push(app);
  return app;
}

const MATH = { mcpServers: { math: { type: 'builtin' } } };

test('tools are listed with their servers, and called by both names', async () => {
  const app = start(MATH);
  expect((await app.tools()).map(({ server, name }) => `${server}.${name}`)).toContain('math.convert_base');
  const result = await app.call('math.convert_base', { number: '255', to: 16 });
  expect(result.structuredContent).toEqual({ number: 'ff' });
});

test('a request gets what a client of mcpx gets', async () => {
  const answer = (await start(MATH).request('tools/list')) as { tools: { name: string }[] };
  expect(answer.tools.map(({ name }) => name)).toEqual(['inspect', 'exec']);
});

test('a config in the shape of another client works too', async () => {
  const app = start({ servers: [{ id: 'numbers', type: 'builtin', builtin: 'math' }] });
  expect((await app.tools()).every(({ server }) => server === 'numbers')).toBe(true);
});

test('a profile can be chosen', async () => {
  const config = { ...MATH, profiles: { few: { servers: ['math'], tools: { allow: ['math.convert_base'] } } } };
  expect((await start(config, { profile: 'few' }).tools()).map(({ name }) => name)).toEqual(['convert_base']);
});

test('relative paths begin at the given folder', async () => {
  writeFileSync(join(folder, 'vars.env'), 'A=1\n');
  const config = { mcpServers: { x: { command: './missing-program', envFile: 'vars.env' } } };
  await expect(start(config, { folder }).call('x.y')).rejects.toThrow(join(folder, 'missing-program'));
});

test('a mistake in the config is told with its code', () => {
  const config = { mcpServers: { x: { command: 'x', timeout: 'soon' } } };
  expect(() => createApp(config)).toThrow(McpxError);
  expect(() => createApp(config)).toThrow('"mcpServers.x.timeout" must be a duration');
});

test('a target without a server is refused with a hint', async () => {
  await expect(start(MATH).call('convert_base')).rejects.toMatchObject({ code: 'usage', hint: 'write "server.tool"' });
});

test('the published types fit the code', () => {
  expectTypeOf(createApp).toExtend<typeof Published.createApp>();
});
