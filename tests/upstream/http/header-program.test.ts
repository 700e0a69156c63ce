/** Headers from a program of the user: real processes, their cache and their failures. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { createHeaderPrograms, type HelpedServer } from '../../../src/upstream/http/header-program.ts';
import { stopClock } from '../../setup/clock.ts';

afterEach(() => void vi.useRealTimers());

/** A server whose helper is this script; it has the path of a file as its argument, in which it can count. */
function helped(script: string, more: Partial<HelpedServer> = {}): HelpedServer & { file: string } {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-helper-')), 'runs');
  writeFileSync(file, '');
  const env = { PATH: process.env.PATH ?? '' };
  const helper = { command: process.execPath, args: ['-e', script, file], env, keep: 60_000 };
  return { name: 'vault', url: 'https://example.org/mcp', headers: { 'X-Own': 'mine' }, helper, file, ...more };
}

const COUNT =
  'const fs = require("fs"); fs.appendFileSync(process.argv[1], "x"); const n = fs.readFileSync(process.argv[1]).length;';
const TOKEN = `${COUNT} console.log(JSON.stringify({ Authorization: "Bearer token-" + n }))`;
const runs = ({ file }: { file: string }) => readFileSync(file).length;

test('the headers are added to the configured ones, and all connections share one run', async () => {
  const server = helped(TOKEN);
  const create = createHeaderPrograms();
  const all = await Promise.all([create(server), create(server)].map((one) => one.headers()));
  expect(all).toEqual(Array(2).fill({ 'x-own': 'mine', authorization: 'Bearer token-1' }));
  expect(await create(server).headers()).toEqual(all[0]);
  expect(runs(server)).toBe(1);
  expect(create(server).secrets?.()).toContain('token-1');
});

test('the program runs again when the time of its headers is over', async () => {
  stopClock();
  const authorization = createHeaderPrograms()(helped(TOKEN));
  await authorization.headers();
  vi.advanceTimersByTime(60_001);
  expect(await authorization.headers()).toMatchObject({ authorization: 'Bearer token-2' });
});

test('refused headers are fetched again, and the request is repeated only with other ones', async () => {
  const changing = createHeaderPrograms()(helped(TOKEN));
  const sent = await changing.headers();
  expect(await changing.refused({ status: 401, challenge: undefined, sent })).toBe(true);
  expect(await changing.headers()).toMatchObject({ authorization: 'Bearer token-2' });
  const constant = createHeaderPrograms()(helped('console.log(JSON.stringify({ "X-Key": "same" }))'));
  const refusal = { status: 401, challenge: undefined, sent: await constant.headers() };
  expect(await constant.refused(refusal)).toBe(false);
  expect(constant.error(401).message).toContain('does not accept the headers of its headersHelper (HTTP 401');
});

test.each([
  ['an exit code', 'console.log("hush"); process.exit(3)', 'ended with exit code 3'],
  ['text', 'console.log("hush")', 'did not print a JSON object'],
  ['a list', 'console.log(JSON.stringify(["hush"]))', 'did not print a JSON object'],
  ['a line break', 'console.log(JSON.stringify({ "X-Key": "hush\\r\\nX: y" }))', 'did not print a JSON object'],
  ['a huge output', 'console.log("hush".repeat(100_000))', 'printed over 64 KiB'],
  ['a signal', 'process.kill(process.pid, "SIGKILL")', process.platform === 'win32' ? 'ended' : 'was ended by SIGKILL'],
])('%s is an error that names the server and not the output', async (_, script, message) => {
  const failure = await Promise.resolve(createHeaderPrograms()(helped(script)).headers()).catch(String);
  expect(failure).toContain(message);
  expect(failure).toContain('"vault"');
  expect(failure).not.toContain('hush');
});

test('a program that is missing is an error, and no shell reads its arguments', async () => {
  const server = helped(`console.log(JSON.stringify({ "X-Words": process.argv[2] }))`);
  const { helper } = server;
  const missing = { ...server, helper: { ...helper, command: 'no-such-program-here' } };
  await expect(createHeaderPrograms()(missing).headers()).rejects.toThrow('cannot be started (ENOENT)');
  const quoted = { ...server, helper: { ...helper, args: [...helper.args, '$(id); echo'] } };
  expect(await createHeaderPrograms()(quoted).headers()).toMatchObject({ 'x-words': '$(id); echo' });
});
