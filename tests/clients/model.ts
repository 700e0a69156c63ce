/** A model on loopback that follows a script: it calls the tools that a test names and records what a client shows it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DIALECTS, type Reply, type Turn } from './dialects.ts';

/** Returns the next step of the model from the text that it was shown; a text ends the conversation. */
export type Step = (turn: Turn) => Reply | Promise<Reply>;

export interface Model {
  url: string;
  /** The last request of the conversation, as the client sent it. */
  last(): Turn;
  /** The longest request, as text. */
  longest(): string;
  /** Addresses beyond loopback that a client tried to reach through the proxy that it was given, which is this server. */
  strays: string[];
  close(): Promise<void>;
}

export interface ModelOptions {
  /**
   * Milliseconds before the first answer, which then calls a tool that does not exist: the next request has the tools
   * of servers that were still starting at the first one.
   */
  waits?: number;
}

const NOTHING = { name: 'wait', called: 'wait', description: '', schema: {} };

/**
 * A client may ask for other things beside the conversation, such as a title: those requests offer no tool of mcpx. The number of results in
 * a request says which step is next, so that a request that is sent twice gets the same answer.
 */
export async function startModel(steps: Step[], { waits = 0 }: ModelOptions = {}): Promise<Model> {
  const strays: string[] = [];
  let last: Turn | undefined;
  let longest = '';
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? '/', 'http://model').pathname;
    if (/^https?:/.test(request.url ?? '')) strays.push(request.url ?? '');
    const dialect = DIALECTS.find((one) => one.path.test(path));
    const body = await readBody(request);
    if (dialect === undefined || request.method !== 'POST') return void response.writeHead(404).end('{}');
    const turn = dialect.read(JSON.parse(body));
    if (turn.words.length > longest.length) longest = turn.words;
    if (waits > 0 && turn.results.length === 0 && JSON.parse(body).tools?.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, waits));
      const called = dialect.write({ tool: 'wait', input: {} }, { ...turn, tools: [NOTHING] }, JSON.parse(body));
      return void response.writeHead(200, { 'content-type': called.type }).end(called.text);
    }
    const isConversation = turn.tools.some(({ name }) => name === 'inspect');
    if (isConversation) last = turn;
    const step = isConversation ? steps[turn.results.length] : undefined;
    const { type, text } = dialect.write((await step?.(turn)) ?? 'done', turn, JSON.parse(body));
    response.writeHead(200, { 'content-type': type }).end(text);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.writeHead(500).end(error.stack));
  });
  server.on('connect', (request, socket) => {
    strays.push(request.url ?? '');
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    last: () => last ?? { tools: [], results: [], words: '' },
    longest: () => longest,
    strays,
    close: () => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections()),
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
