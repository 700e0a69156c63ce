/**
 * The servers of `bench:lookup`: many tools with descriptions and parameters of an ordinary length, and resources. The tool
 * `change` gives one tool another description and announces it.
 *   <tools>   over stdin and stdout: one server with so many tools
 */
import { createServer } from 'node:http';
import { isMain } from '../project.mjs';

const VERBS = 'list get create update delete search export import archive share'.split(' ');
const THINGS =
  'invoice customer ticket order shipment contract report dashboard meeting document folder branch pipeline release alert'.split(
    ' ',
  );

function toolOf(index) {
  const [verb, thing] = [VERBS[index % VERBS.length], THINGS[Math.floor(index / VERBS.length) % THINGS.length]];
  return {
    name: `${verb}_${thing}_${index}`,
    description: `${verb} the ${thing} number ${index} of a workspace. Needs the permission to ${verb} every ${thing}; answers with its fields and the time of the last change.`,
    inputSchema: {
      type: 'object',
      properties: {
        [`${thing}_id`]: { type: 'string', description: `The id of the ${thing}, as the list shows it` },
        fields: {
          type: 'array',
          items: { type: 'string', enum: ['id', 'name', 'owner', 'state'] },
          description: 'The fields to answer with',
        },
        limit: { type: 'integer', minimum: 1, maximum: 500, description: 'The number of entries, 50 unless given' },
      },
      required: [`${thing}_id`],
    },
  };
}

function resourceOf(index) {
  return { uri: `file:///workspace/${index}.md`, name: `page ${index}`, mimeType: 'text/markdown' };
}

/** Answers the messages of one server; `announce` sends a notification. */
function createMethods(name, count, announce) {
  const tools = Array.from({ length: count }, (_, index) => toolOf(index));
  const resources = Array.from({ length: count }, (_, index) => resourceOf(index));
  const change = { name: 'change', inputSchema: { type: 'object' } };
  let changes = 0;
  const call = () => {
    tools[0] = { ...tools[0], description: `Changed ${++changes} times.` };
    announce({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    return { content: [{ type: 'text', text: String(changes) }] };
  };
  return {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: { listChanged: true }, resources: {} },
      serverInfo: { name, version: '1.0.0' },
    }),
    ping: () => ({}),
    'tools/list': () => ({ tools: [change, ...tools] }),
    'resources/list': () => ({ resources }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
    'tools/call': call,
  };
}

function answer(methods, { id, method, params }) {
  if (!Object.hasOwn(methods, method))
    return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
  return { jsonrpc: '2.0', id, result: methods[method](params ?? {}) };
}

/** Listens on loopback: each path is a server with so many tools. Returns its address and how to close it. */
export async function serveMany(count) {
  const known = new Map();
  const server = createServer((request, response) => {
    const { url } = request;
    if (!known.has(url))
      known.set(
        url,
        createMethods(url.slice(1), count, () => undefined),
      );
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const message = request.method === 'POST' ? JSON.parse(body) : {};
      if (message.id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end();
      response
        .writeHead(200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(answer(known.get(url), message)));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function serveStdio(count) {
  const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
  const methods = createMethods('large', count, say);
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const message of lines.map((line) => JSON.parse(line)))
      if (message.id !== undefined) say(answer(methods, message));
  });
}

if (isMain(import.meta.url)) serveStdio(Number(process.argv[2]));
