/** `mcpx logs -f` beside a server that writes and a log that is rotated, and `mcpx list` after Ctrl-C. */
import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emptyPlace, fixture, run, start, WINDOWS } from './program.ts';

const node = process.execPath;

test.skipIf(WINDOWS)(
  'logs -f shows what a server writes, also after a rotation, until Ctrl-C (needs SIGINT)',
  async () => {
    const place = emptyPlace();
    const says = (text: string) =>
      `console.error(${JSON.stringify(text)}); import(${JSON.stringify(fixture('stdio.mjs'))})`;
    place.file('c.json', { mcpServers: { chatty: { command: node, args: ['-e', says('good morning')] } } });
    const following = start(['logs', '-f', '-c', 'c.json'], place);
    await following.wrote('stderr', 'waiting for the first line');
    expect((await run(['list', '--check', '-c', 'c.json'], place)).stdout).toMatch(/\n1 server: 1 ready\n$/);
    await following.wrote('stdout', /^\S+Z chatty good morning$/m);

    const file = join(place.env.HOME ?? '', '.mcpx', 'logs', 'chatty.log');
    appendFileSync(file, 'the last line\n');
    renameSync(file, `${file}.1`);
    writeFileSync(file, 'a new file\n');
    await following.wrote('stdout', 'chatty a new file');
    expect(following.said.stdout).toContain('chatty the last line');
    following.child.kill('SIGINT');
    expect((await following.finished).code).toBe(130);
    expect((await run(['logs', 'chatty', '-n', '2', '-c', 'c.json'], place)).stdout).toBe(
      'the last line\na new file\n',
    );
  },
);

test.skipIf(WINDOWS)('a check that Ctrl-C ends leaves no failure behind (needs SIGINT)', async () => {
  const place = emptyPlace();
  const waits = `console.error('here'); setInterval(() => {}, 1000)`;
  place.file('c.json', { mcpServers: { slow: { command: node, args: ['-e', waits] } } });
  const checking = start(['doctor', 'slow', '-c', 'c.json'], place);
  const following = start(['logs', '-f', 'slow', '-c', 'c.json'], place);
  await following.wrote('stdout', 'here');
  checking.child.kill('SIGINT');
  expect(await checking.finished).toMatchObject({ code: 130, stdout: '' });
  expect((await run(['list', '-c', 'c.json'], place)).stdout).toMatch(/^slow +stdio +never started/);
});

test.each([
  ['text that is no JSON', '{"log":{"format":"json"},"mcpServers":{"a":{"command":}}}'],
  ['a wrong value', '{"mcpServers":{"a":{"command":5}},"log":{"level":"info","format":"json"}}'],
])('with "format": "json", stderr is JSON also for a config with %s', async (_, text) => {
  const place = emptyPlace();
  const { code, stderr } = await run(['serve', place.file('mcp.json', text)], place);
  expect(code).toBe(6);
  const [first] = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(first).toMatchObject({ level: 'error', time: expect.any(String) });
  // For a user in a shell, stderr is no log.
  expect((await run(['list', '--config', place.file('mcp.json', text)], place)).stderr).toMatch(/^error: /);
});

test('a comment asks for no format', async () => {
  const place = emptyPlace();
  const text = '{\n// "log": { "format": "json" },\n"mcpServers": {"a":{"command":5}}}';
  expect((await run(['serve', place.file('mcp.json', text)], place)).stderr).toMatch(/^error: /);
});
