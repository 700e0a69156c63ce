/** The executable and the bundle over stdio, byte by byte. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { answers, BUNDLE, EXECUTABLE, emptyPlace, INITIALIZE, rpc, start } from './program.ts';

describe.each([
  ['the executable', [EXECUTABLE]],
  ['the bundle under this node', [process.execPath, BUNDLE]],
])('%s', (_, command) => {
  const talk = async (input: string) => {
    expect(existsSync(command.at(-1) ?? '')).toBe(true);
    const mcpx = start(['serve', '--demo'], emptyPlace(), command);
    mcpx.child.stdin?.end(input);
    const { code, stdout, stderr } = await mcpx.finished;
    return { code, stderr, replies: answers(stdout), stdout };
  };

  test('a whole conversation sent at once is answered in full before the exit', async () => {
    const exec = { name: 'exec', arguments: { server_name: 'text', tool_name: 'count', arguments: { text: 'a b c' } } };
    const { code, stderr, replies } = await talk(
      rpc(0, 'initialize', INITIALIZE) + rpc('two', 'tools/list') + rpc(3, 'tools/call', exec),
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(replies.map(({ id }) => id).sort()).toEqual([0, 3, 'two']);
    expect(replies.every(({ error }) => error === undefined)).toBe(true);
  });

  test('garbage is answered with -32700 and the next request works', async () => {
    const { code, replies } = await talk(`garbage\n${rpc(1, 'ping')}`);
    expect(code).toBe(0);
    expect(replies).toEqual([
      { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32700 }) },
      { jsonrpc: '2.0', id: 1, result: {} },
    ]);
  });

  test('nothing at all is a clean exit', async () => {
    expect(await talk('')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  test('Content-Length framing is answered in kind', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const mcpx = start(['serve', '--demo'], emptyPlace(), command);
    mcpx.child.stdin?.end(`Content-Length: ${body.length}\r\n\r\n${body}`);
    expect((await mcpx.finished).stdout).toMatch(/^Content-Length: \d+\r\n\r\n\{/);
  });
});

test('NODE_OPTIONS and a hostile working directory change nothing', async () => {
  const place = emptyPlace();
  place.file('evil.cjs', 'process.stdout.write("owned\\n"); process.exit(66);');
  place.file('package.json', { type: 'module', main: 'evil.cjs' });
  place.file('.env', 'MCPX_CONFIG=/nowhere.json\n');
  place.file('config.json', '{"mcpServers": {"x": {"command": "false"}}}');
  const env = { ...place.env, NODE_OPTIONS: `--require ${place.cwd}/evil.cjs` };
  const mcpx = start([], { cwd: place.cwd, env });
  mcpx.child.stdin?.end(rpc(1, 'initialize', INITIALIZE) + rpc(2, 'tools/list'));
  const { code, stdout } = await mcpx.finished;
  expect(code).toBe(0);
  expect(stdout).not.toContain('owned');
  expect(JSON.stringify(answers(stdout))).not.toContain('"x"');
});
