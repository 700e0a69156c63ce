/** Real servers over every transport that each of them has, through the executable. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { emptyPlace, fixture, openSession, run, serverScript } from './program.ts';

const node = process.execPath;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Starts a server that listens; resolves with its port once it has said so. */
async function listening(args: string[], said: RegExp, env: Record<string, string> = {}): Promise<number> {
  const child = spawn(node, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let words = '';
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        words += chunk;
        const port = said.exec(words)?.[1];
        if (port !== undefined) resolve(Number(port));
      });
    }
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${words}`)));
  });
}

const everything = async (kind: string) => {
  const port = await freePort();
  return listening([serverScript('server-everything'), kind], /port (\d+)/, { PORT: `${port}` });
};
const ours = (file: string, ...words: string[]) => listening([fixture(file), ...words], /listening on (\d+)/);
const url = (port: number, path: string) => `http://127.0.0.1:${port}${path}`;

interface Case {
  config: () => Promise<object>;
  /** The argument of `echo`, and what it puts before its answer. */
  argument: string;
  before: string;
}

const EVERYTHING = { argument: 'message', before: 'Echo: ' };
const OURS = { argument: 'text', before: '' };

const CASES: Record<string, Case> = {
  'server-everything over stdio': {
    ...EVERYTHING,
    config: async () => ({ command: node, args: [serverScript('server-everything'), 'stdio'] }),
  },
  'server-everything over Streamable HTTP': {
    ...EVERYTHING,
    config: async () => ({ type: 'http', url: url(await everything('streamableHttp'), '/mcp') }),
  },
  'server-everything over SSE': {
    ...EVERYTHING,
    config: async () => ({ type: 'sse', url: url(await everything('sse'), '/sse') }),
  },
  'server-everything at a URL without a type that is Streamable HTTP': {
    ...EVERYTHING,
    config: async () => ({ url: url(await everything('streamableHttp'), '/mcp') }),
  },
  'server-everything at a URL without a type that is SSE': {
    ...EVERYTHING,
    config: async () => ({ url: url(await everything('sse'), '/sse') }),
  },
  'the first major of the official SDK over stdio': {
    ...OURS,
    config: async () => ({ command: node, args: [fixture('sdk-v1.mjs'), 'stdio'] }),
  },
  'the first major of the official SDK over Streamable HTTP': {
    ...OURS,
    config: async () => ({ type: 'http', url: url(await ours('sdk-v1.mjs', 'http'), '/mcp') }),
  },
  'the first major of the official SDK over SSE': {
    ...OURS,
    config: async () => ({ type: 'sse', url: url(await ours('sdk-v1.mjs', 'sse'), '/sse') }),
  },
  'the second major of the official SDK over stdio': {
    ...OURS,
    config: async () => ({ command: node, args: [fixture('sdk-v2.mjs'), 'stdio'] }),
  },
  'the second major of the official SDK over Streamable HTTP': {
    ...OURS,
    config: async () => ({ type: 'http', url: url(await ours('sdk-v2.mjs', 'http'), '/mcp') }),
  },
  'the second major of the official SDK, newer era only, over stdio': {
    ...OURS,
    config: async () => ({ command: node, args: [fixture('sdk-v2.mjs'), 'stdio', 'modern'] }),
  },
  'the second major of the official SDK, newer era only, over Streamable HTTP': {
    ...OURS,
    config: async () => ({ type: 'http', url: url(await ours('sdk-v2.mjs', 'http', 'modern'), '/mcp') }),
  },
};

describe('a call and its answer, many at once, and a large one', () => {
  test.each(Object.entries(CASES))('%s', async (_, { config, argument, before }) => {
    const session = await openSession(emptyPlace(), {
      mcpServers: { it: await config() },
      connect: { firstListWait: '15s' },
      limits: { resultChars: 10_000_000, keepChars: 10_000_000 },
    });
    const inspected = await session.request('tools/call', { name: 'inspect', arguments: { server_name: 'it' } });
    expect(inspected.result.content[0].text).toContain('echo(');
    const echo = async (text: string) => {
      const said = await session.exec('it', 'echo', { [argument]: text });
      expect(said).toMatchObject({ text: `${before}${text}`, isError: false });
    };
    await echo('héllo 中 🙂');
    await Promise.all(Array.from({ length: 20 }, (_, n) => echo(`call ${n}`)));
    await echo('x'.repeat(500_000));
    session.child.stdin?.end();
    expect((await session.finished).code).toBe(0);
  });
});

test('what a tool calls a failure arrives as one, over every transport of the official SDK', async () => {
  const mcpServers = {
    stdio1: { command: node, args: [fixture('sdk-v1.mjs'), 'stdio'] },
    http1: { type: 'http', url: url(await ours('sdk-v1.mjs', 'http'), '/mcp') },
    sse1: { type: 'sse', url: url(await ours('sdk-v1.mjs', 'sse'), '/sse') },
    stdio2: { command: node, args: [fixture('sdk-v2.mjs'), 'stdio'] },
    http2: { type: 'http', url: url(await ours('sdk-v2.mjs', 'http'), '/mcp') },
  };
  const session = await openSession(emptyPlace(), { mcpServers, connect: { firstListWait: '15s' } });
  for (const server of Object.keys(mcpServers)) {
    expect(await session.exec(server, 'fail')).toMatchObject({ text: 'it failed', isError: true });
  }
});

test('a server of a list by id that reads Content-Length frames only is listed, and its timeout is in seconds', async () => {
  const place = emptyPlace();
  const servers = [{ id: 'framed', command: [node, fixture('framed.mjs'), 'strict'], timeout: 30 }];
  const config = place.file('mcp.json', { servers });
  expect(await run(['tools', '--config', config], place)).toMatchObject({
    code: 0,
    stdout: 'framed.echo\n',
    stderr: '',
  });
  const { stdout } = await run(['exec', 'framed.echo', '--config', config, '--args', '{"a":1}'], place);
  expect(stdout).toBe('{"a":1}\n');
});
