/** The network as people have it: a proxy that must be used, and an authority of their own; with both programs. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { serveProxy } from '../upstream/proxy-world.ts';
import { cleanup } from '../upstream/world.ts';
import { BUNDLE, EXECUTABLE, emptyPlace, start } from './program.ts';

const PROGRAMS = [
  ['the executable', [EXECUTABLE]],
  ['the bundle on this node', [process.execPath, BUNDLE]],
] as [string, string[]][];

const folder = mkdtempSync(join(tmpdir(), 'mcpx-ca-'));
const at = (name: string) => join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

function hasOpenssl(): boolean {
  try {
    openssl('version');
    return true;
  } catch {
    return false;
  }
}

/** An authority, and a certificate for localhost that it signed. */
function makeCertificates(): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=mcpx test authority');
  openssl('req', ...key, '-keyout', 'host.key', '-out', 'host.csr', '-subj', '/CN=localhost');
  writeFileSync(at('san'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'san'];
  openssl('x509', '-req', '-in', 'host.csr', ...sign, '-out', 'host.pem');
}

function answerTo({ method, params }: { method: string; params?: any }): unknown {
  if (method === 'initialize') {
    return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'tls', version: '1' } };
  }
  if (method === 'tools/list') return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
  return { content: [{ type: 'text', text: `heard ${params?.arguments?.word}` }] };
}

/** An MCP server behind TLS that speaks Streamable HTTP and WebSocket. */
async function serveTls(): Promise<number> {
  const server = createServer({ key: readFileSync(at('host.key')), cert: readFileSync(at('host.pem')) });
  server.on('request', async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const message = text === '' ? {} : JSON.parse(text);
    if (message.id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end();
    if (message.method === 'server/discover') return response.writeHead(400).end();
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answerTo(message) }));
  });
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'mcp' });
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (message.id === undefined) return;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answerTo(message) }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(() => {
    sockets.close();
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

describe.skipIf(!hasOpenssl())('through a proxy to a server behind TLS (needs openssl)', () => {
  beforeAll(makeCertificates);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const exec = async (program: string[], url: string, more: Record<string, string>) => {
    const place = emptyPlace();
    const config = place.file('mcp.json', { mcpServers: { far: { url } } });
    const env = { ...place.env, ...more };
    const running = start(['exec', 'far.echo', 'word=中', '-c', config], { cwd: place.cwd, env }, program);
    running.child.stdin?.end();
    return running.finished;
  };

  test.each(PROGRAMS)('%s gets there, by https and by wss', async (_, program) => {
    const port = await serveTls();
    const proxy = await serveProxy();
    const env = { NODE_EXTRA_CA_CERTS: at('ca.pem'), HTTPS_PROXY: proxy.url };
    for (const scheme of ['https', 'wss']) {
      const done = await exec(program, `${scheme}://localhost:${port}/mcp`, env);
      expect(done).toMatchObject({ code: 0, stdout: 'heard 中\n' });
    }
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT localhost:${port}`]));
    expect(proxy.asked.length).toBeGreaterThanOrEqual(2);
  });

  test.each(PROGRAMS)('%s goes straight where NO_PROXY says so', async (_, program) => {
    const port = await serveTls();
    const proxy = await serveProxy();
    const env = { NODE_EXTRA_CA_CERTS: at('ca.pem'), https_proxy: proxy.url, no_proxy: 'localhost' };
    expect(await exec(program, `https://localhost:${port}/mcp`, env)).toMatchObject({ code: 0, stdout: 'heard 中\n' });
    expect(proxy.asked).toEqual([]);
  });

  test.each(PROGRAMS)('%s does not trust an authority that nobody named', async (_, program) => {
    const port = await serveTls();
    const done = await exec(program, `https://localhost:${port}/mcp`, {});
    expect(done.code).toBe(4);
    expect(done.stderr).toContain('has a certificate that is not trusted');
    expect(done.stderr).toContain('NODE_EXTRA_CA_CERTS');
  });
});

/** A local module whose tools fetch a page that never arrives, and one that tells how the fetches ended. */
const fetching = (url: string) => `
const names = [];
const fetched = (signal) => fetch('${url}', { signal }).catch((error) => {
  names.push(error.name);
  throw error;
});
export const tools = {
  plain: { handler: (_, { signal }) => fetched(signal) },
  any: { handler: (_, { signal }) => fetched(AbortSignal.any([signal, new AbortController().signal])) },
  reasons: { handler: () => ({ names }) },
};
`;

/** A web server that accepts requests and does not answer. */
async function serveNothing(): Promise<{ server: Server; url: string }> {
  const server = createHttpServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

describe('a local module', () => {
  test.each(PROGRAMS)('runs in a child of %s, and its prints hurt nobody', async (_, program) => {
    const place = emptyPlace();
    const schema = '{ type: "object", properties: { a: { type: "number" }, b: { type: "number" } } }';
    place.file(
      'tools.mjs',
      `console.log("hi"); export const tools = { add: { inputSchema: ${schema}, handler: ({ a, b }) => ({ sum: a + b }) } };`,
    );
    const config = place.file('mcp.json', { mcpServers: { local: { module: './tools.mjs' } } });
    const running = start(['exec', 'local.add', 'a=1', 'b=2', '-c', config], place, program);
    running.child.stdin?.end();
    const { code, stdout } = await running.finished;
    expect({ code, answer: JSON.parse(stdout) }).toEqual({ code: 0, answer: { sum: 3 } });
  });

  test.each(PROGRAMS)(
    'in %s gets a signal for fetch and AbortSignal.any, which the client aborts',
    async (_, program) => {
      const place = emptyPlace();
      const slow = await serveNothing();
      place.file('tools.mjs', fetching(slow.url));
      const config = place.file('mcp.json', { mcpServers: { local: { module: './tools.mjs' } } });
      const [command = '', ...args] = [...program, 'serve', '--front', 'aggregate', '-c', config];
      const client = new Client({ name: 'canceller', version: '1' });
      await client.connect(
        new StdioClientTransport({ command, args, env: place.env, cwd: place.cwd, stderr: 'ignore' }),
      );
      cleanup(() => client.close());
      for (const name of ['local__plain', 'local__any']) {
        const stop = new AbortController();
        const begun = once(slow.server, 'request');
        const call = client.callTool({ name }, undefined, { signal: stop.signal });
        const [request] = await begun;
        const closed = once(request.socket, 'close');
        stop.abort();
        await expect(call).rejects.toThrow();
        await closed;
      }
      const reasons = await client.callTool({ name: 'local__reasons' });
      expect(reasons.structuredContent).toEqual({ names: ['AbortError', 'AbortError'] });
    },
  );
});
