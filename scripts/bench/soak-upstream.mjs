/**
 * The MCP server behind `bench-soak.mjs`: over stdio, or over Streamable HTTP without sessions with `http=<port>`. No dependencies.
 * Tools: `echo` answers its text, `wait` after `ms`, `large` with `bytes` of text, `talk` sends progress and log messages first,
 * `roots` asks the client for its roots, `revision` answers the variable REVISION, `crash` ends the process in the middle of the call,
 * `hang` blocks the process for `ms`. `ttl=<seconds>` after which it ends by itself; `name=<text>` is there to be seen in its command line.
 */
import { createServer } from 'node:http';

const flags = new Map(process.argv.slice(2).map((arg) => arg.split('=')));
setTimeout(() => process.exit(0), 1000 * Number(flags.get('ttl') ?? 7200)).unref();

const SAID = 5;
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Each gets its arguments and the conversation: `notify`, `ask`, and the token of progress. */
const tools = {
  echo: ({ text: words }) => text(words),
  wait: async ({ text: words, ms }) => {
    await pause(ms);
    return text(words);
  },
  large: ({ bytes }) => text('x'.repeat(bytes)),
  talk: async ({ text: words }, { notify, progressToken }) => {
    for (let said = 1; said <= SAID; said++) {
      if (progressToken !== undefined) notify('notifications/progress', { progressToken, progress: said, total: SAID });
      notify('notifications/message', { level: 'info', data: `${words} ${said}` });
      await pause(5);
    }
    return text(words);
  },
  roots: async (_, { ask }) => text(JSON.stringify((await ask('roots/list')).roots.map(({ uri }) => uri))),
  revision: () => text(process.env.REVISION ?? ''),
  crash: () => process.exit(1),
  hang: ({ ms }) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    return text('hung');
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: 'soak', version: '1' },
  }),
  ping: () => ({}),
  'logging/setLevel': () => ({}),
  'tools/list': () => ({ tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name, arguments: args = {}, _meta: meta }, talk) =>
    tools[name](args, { ...talk, progressToken: meta?.progressToken }),
};

/** The answer to a request, as an object; `talk` sends to the client meanwhile. */
async function answer({ id, method, params = {} }, talk) {
  if (!Object.hasOwn(methods, method))
    return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
  try {
    return { jsonrpc: '2.0', id, result: await methods[method](params, talk) };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: -32603, message: String(error?.message ?? error) } };
  }
}

function serveStdio() {
  const asked = new Map();
  let lastId = 0;
  const send = (message) => void process.stdout.write(`${JSON.stringify(message)}\n`);
  const talk = {
    notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
    ask: (method) =>
      new Promise((resolve, reject) => {
        const id = `ask-${++lastId}`;
        asked.set(id, { resolve, reject });
        send({ jsonrpc: '2.0', id, method });
      }),
  };
  const take = async (message) => {
    if (message.method === undefined) {
      const { resolve, reject } = asked.get(message.id) ?? {};
      asked.delete(message.id);
      if (message.error !== undefined) reject?.(new Error(message.error.message));
      else resolve?.(message.result);
    } else if (message.id !== undefined) send(await answer(message, talk));
  };
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  });
  process.stdin.on('end', () => process.exit(0));
}

/** A request is answered with an event stream, which carries what is said before the answer; there are no questions. */
function serveHttp(port) {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (sent) => void response.write(`event: message\ndata: ${JSON.stringify(sent)}\n\n`);
    const notify = (method, params) => send({ jsonrpc: '2.0', method, params });
    send(await answer(message, { notify, ask: () => Promise.reject(new Error('no questions here')) }));
    response.end();
  });
  server.listen(port, '127.0.0.1', () => process.stdout.write('listening\n'));
}

if (flags.has('http')) serveHttp(Number(flags.get('http')));
else serveStdio();
