/** Catalogs for npm run bench:tokens: made-up ones, those in a folder, and an HTTP server that plays all of their servers at once. */
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { BuildError, readJson } from '../project.mjs';

/** The result of every call: an ordinary line of text. */
const RESULT = 'Done: 3 entries match, the newest is from Tuesday; 2 are open, 1 is closed. Nothing was changed.';

/** Every `<name>.json` with `tools`, and `initialize.result` or `initialize` where the instructions are: `[{name, tools, instructions}]`. */
export function readCatalogs(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  if (files.length === 0) throw new BuildError(`there is no catalog in "${folder}"`);
  return files.sort().map((file) => {
    const { tools = [], initialize } = readJson(join(folder, file));
    return { name: basename(file, '.json'), tools, instructions: (initialize?.result ?? initialize)?.instructions };
  });
}

const AREAS = [
  'issues',
  'calendar',
  'invoices',
  'tickets',
  'stock',
  'salaries',
  'leads',
  'handbook',
  'traffic',
  'incidents',
];
const ACTS = ['create', 'get', 'list', 'update', 'delete', 'search', 'archive', 'export', 'import', 'assign'];

/** Ten servers of twenty tools each, with the parameters that tools of such systems have. */
export function madeUpCatalogs() {
  return AREAS.map((area) => ({
    name: area,
    tools: ['entry', 'summary'].flatMap((thing) => ACTS.map((act) => madeUpTool(act, `${area}_${thing}`))),
  }));
}

function madeUpTool(act, noun) {
  const words = noun.replace('_', ' ');
  const text = (description, more) => ({ type: 'string', description, ...more });
  const whole = (description, more) => ({ type: 'integer', description, ...more });
  return {
    name: `${act}_${noun}`,
    description:
      `${act[0].toUpperCase()}${act.slice(1)} one ${words} of the company, or several at a time. ` +
      `Call it when somebody wants to ${act} a ${words}; the query says which one, ` +
      'and no more than the given number of them are touched.',
    inputSchema: {
      type: 'object',
      properties: {
        query: text(`Words that tell which ${words} is meant, such as its title or its number`),
        limit: whole('The largest number of entries to touch', { minimum: 1, maximum: 500 }),
        fields: {
          type: 'array',
          items: { type: 'string', enum: ['id', 'title', 'owner', 'state', 'created', 'changed'] },
          description: 'The fields that are wanted in the answer',
        },
        filter: {
          type: 'object',
          properties: {
            state: { type: 'string', enum: ['open', 'closed', 'draft'] },
            owner: text('The login name of an owner'),
            since: { type: 'string', format: 'date-time' },
          },
        },
        dry_run: { type: 'boolean', default: false, description: 'Only say what would be done' },
        page: whole('Which page of the answer, from one on'),
        timeout: whole('Seconds to wait for the other system'),
        comment: text('A remark for the log, inline'),
      },
      required: ['query'],
    },
  };
}

const usual = () => ({ content: [{ type: 'text', text: RESULT }] });

/**
 * Plays every catalog as a Streamable HTTP server of its own under `/<name>`: `{url, close}`. Loopback only. `called` gives the result of
 * a call from the name of its server and its params.
 */
export async function serveCatalogs(catalogs, called = usual) {
  const byPath = new Map(catalogs.map((catalog) => [`/${catalog.name}`, catalog]));
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const catalog = byPath.get(request.url);
      if (catalog === undefined || request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      if (id === undefined) return response.writeHead(202).end();
      const answer = answerOf(catalog, method, params, called);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

function answerOf({ name, tools, instructions }, method, params, called) {
  const methods = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name, version: '1.0.0' },
      ...(instructions && { instructions }),
    }),
    ping: () => ({}),
    'tools/list': () => ({ tools }),
    'tools/call': () => called(name, params),
  };
  return Object.hasOwn(methods, method)
    ? { result: methods[method]() }
    : { error: { code: -32601, message: 'Method not found' } };
}
