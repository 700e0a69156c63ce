/** `mcpx status` against a running gateway, and against none. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { captureOutput } from '../setup/output.ts';
import { PATIENCE } from '../setup/until.ts';

const shown = captureOutput();
/** For a machine that is busy with other tests. */
const PATIENT = { timeout: PATIENCE };
afterEach(() => void vi.unstubAllEnvs());

const mcpx = (words: string[], stop = new AbortController()) =>
  runCli({ words, stdinIsTerminal: true, stop: stop.signal, atExit: () => undefined });

function configFile(content: unknown): string {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-status-')), 'config.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

async function gateway(content: unknown) {
  const stop = new AbortController();
  const ended = mcpx(['serve', configFile(content), '--port', '0'], stop);
  const url = await vi.waitFor(() => {
    const [, found = ''] = /listening on (\S+)/.exec(shown.stderr) ?? [];
    expect(found).not.toBe('');
    return found;
  }, PATIENT);
  return {
    url,
    end: () => {
      stop.abort();
      return ended;
    },
  };
}

test('every server has its state, its tools, and the reason when it is down', async () => {
  const { url, end } = await gateway({
    mcpServers: {
      math: { type: 'builtin' },
      dead: { command: 'no-such-program-anywhere' },
      off: { command: 'x', disabled: true },
    },
  });
  await vi.waitFor(async () => {
    shown.stdout = '';
    expect(await mcpx(['status', '--url', url])).toBe(0);
    expect(shown.stdout).toMatch(/^math +builtin +ready +3 tools$/m);
    expect(shown.stdout).toMatch(/^dead +stdio +\w+ +0 tools +.*no-such-program-anywhere/m);
    expect(shown.stdout).toMatch(/^off +stdio +disabled +0 tools$/m);
  }, PATIENT);
  shown.stdout = '';
  expect(await mcpx(['status', '--url', url, '--json'])).toBe(0);
  expect(JSON.parse(shown.stdout)).toMatchObject({ name: 'mcpx', profiles: [{ name: 'default' }] });
  await end();
});

test('names that several servers want, and none gets, are shown', async () => {
  const { url, end } = await gateway({
    mcpServers: { one: { type: 'builtin', builtin: 'time' }, two: { type: 'builtin', builtin: 'time' } },
    naming: { style: 'plain', onConflict: 'error' },
  });
  await vi.waitFor(async () => {
    shown.stdout = '';
    expect(await mcpx(['status', '--url', url])).toBe(0);
    expect(shown.stdout).toContain('not exposed: the tool "now" of one and two');
  }, PATIENT);
  await end();
});

test('a gateway with tokens wants one', async () => {
  const { url, end } = await gateway({ mcpServers: {}, http: { auth: { tokens: [{ name: 'ci', token: 'right' }] } } });
  expect(await mcpx(['status', '--url', url])).toBe(3);
  expect(shown.stderr).toContain('MCPX_TOKEN');
  vi.stubEnv('MCPX_TOKEN', 'wrong');
  expect(await mcpx(['status', '--url', url])).toBe(3);
  expect(shown.stderr).toContain('rejected the token in MCPX_TOKEN');
  vi.stubEnv('MCPX_TOKEN', 'right');
  expect(await mcpx(['status', '--url', url])).toBe(0);
  expect(shown.stdout).toContain('no server is configured');
  await end();
});

test('no gateway is exit 4 with what to do', async () => {
  expect(await mcpx(['status', '--url', 'http://127.0.0.1:9'])).toBe(4);
  expect(shown.stderr).toContain('no gateway answers at http://127.0.0.1:9');
  expect(shown.stderr).toContain('hint: mcpx serve --http');
});

test.each([
  ['a page', 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>'],
  ['other JSON', 'HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{"status":"up"}'],
  ['nothing', 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
])('what answers with %s is not mcpx', async (_what, answer) => {
  const server = createServer((socket) => void socket.on('error', () => undefined).end(answer));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await mcpx(['status', '--url', url])).toBe(4);
  expect(shown.stderr).toContain(`error: the server at ${url} is not mcpx\n`);
});

test('with an address no config is needed', async () => {
  vi.stubEnv('MCPX_CONFIG', '/nowhere/config.json');
  expect(await mcpx(['status', '--url', 'http://127.0.0.1:9'])).toBe(4);
  expect(await mcpx(['status'])).toBe(6);
});
