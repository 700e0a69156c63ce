/** A thousand calls at once through the executable, to twenty servers: every answer comes, and comes to whom it belongs. */
import { readFileSync } from 'node:fs';
import { Agent, createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { emptyPlace, fixture, INITIALIZE, rpc, start } from './program.ts';

const AT_ONCE = 1000;
const ROUNDS = 3;
const SERVERS = 20;
/** Of them over stdio, the others by URL. */
const PROCESSES = 4;
const MAX_MEMORY = 512;

/** MCP servers by the path of the URL, each of which answers after a moment of its own, with its name. */
async function serveMany(): Promise<number> {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { id, method, params } = text === '' ? ({} as any) : JSON.parse(text);
    if (id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end();
    if (method === 'server/discover') return response.writeHead(400).end();
    const answer = (result: unknown) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    const serverInfo = { name: String(request.url), version: '1' };
    if (method === 'initialize')
      return answer({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
    if (method === 'tools/list') return answer({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
    const said = `${request.url?.slice(1)} heard ${params?.arguments?.word}`;
    return setTimeout(() => answer({ content: [{ type: 'text', text: said }] }), Math.random() * 20);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
}

function poster(url: string, agent: Agent) {
  return (body: string, headers: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const accept = 'application/json, text/event-stream';
      const all = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), accept, ...headers };
      const request = httpRequest(url, { method: 'POST', agent, headers: all }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
}

/** The most memory that a process has had, in MB; undefined where the system does not tell. */
function peakMemory(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

test('a thousand calls at once to twenty servers: no error, no crossed answer, bounded memory', {
  timeout: 180_000,
}, async () => {
  const port = await serveMany();
  const place = emptyPlace();
  const entry = (n: number) =>
    n < PROCESSES
      ? {
          command: process.execPath,
          args: [fixture('listed.mjs'), place.file(`tools${n}.json`, [{ name: 'echo' }]), `v${n}`],
        }
      : { type: 'http', url: `http://127.0.0.1:${port}/s${n}` };
  const mcpServers = Object.fromEntries(Array.from({ length: SERVERS }, (_, n) => [`s${n}`, entry(n)]));
  const gateway = start(['serve', place.file('mcp.json', { mcpServers }), '--port', '0', '--log-level', 'warn'], place);
  const [, url = ''] = (await gateway.wrote('stderr', /listening on (http:\S+)/)) as RegExpExecArray;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  onTestFinished(() => agent.destroy());
  const post = poster(url, agent);

  const sessions = await Promise.all(
    Array.from({ length: 20 }, async () =>
      String((await post(rpc(0, 'initialize', INITIALIZE))).headers['mcp-session-id']),
    ),
  );
  /** Every other call is made in one of the sessions; ids are used by many at once, but once per session. */
  const ask = async (round: number, n: number): Promise<string | undefined> => {
    const server = `s${n % SERVERS}`;
    const id = n % 2 === 0 ? 1 : round * AT_ONCE + n;
    const headers = n % 2 === 0 ? {} : { 'mcp-session-id': sessions[n % sessions.length] ?? '' };
    const word = `${round}-${n}`;
    const args = { server_name: server, tool_name: 'echo', arguments: { word } };
    const { status, text } = await post(rpc(id, 'tools/call', { name: 'exec', arguments: args }), headers);
    const message = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
    const expected = n % SERVERS < PROCESSES ? `echo ran ${word}` : `${server} heard ${word}`;
    const fits = status === 200 && message.id === id && message.result?.content?.[0]?.text === expected;
    return fits ? undefined : `${word} to ${server}: ${status} ${text.slice(0, 300)}`;
  };

  const wrong: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => ask(round, n)));
    wrong.push(...answers.filter((one) => one !== undefined));
  }
  expect(wrong.slice(0, 5)).toEqual([]);
  const peak = peakMemory(gateway.child.pid ?? 0);
  if (peak !== undefined) expect(peak).toBeLessThan(MAX_MEMORY);
});
