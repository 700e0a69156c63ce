/** A question that a client takes its time for: on a server that all clients share, it is the business of that client and of nobody else. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../../src/app/app.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { listenHttp } from '../../../src/listen/http/http.ts';
import { SILENT } from '../../../src/observe/log.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { BOTH, rpc, send } from '../harness.ts';

const script = resolve(import.meta.dirname, '../../fixtures/servers/stdio.mjs');
const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';

async function start(more: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-held-'));
  const file = join(folder, 'config.json');
  const server = { command: process.execPath, args: [script], ...more };
  writeFileSync(file, JSON.stringify({ mcpServers: { legacy: server } }));
  const { config } = loadConfig({ files: [file] });
  const app = createApp(config, { log: SILENT });
  const settings = { ...config.settings.http, port: 0 };
  const listener = await listenHttp({ gateway: app, settings, auth: createAuthenticator([]), log: SILENT });
  onTestFinished(async () => {
    await listener.close();
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return `${listener.url}/mcp`;
}

/** One request of the modern era: its result. */
async function exec(
  url: string,
  tool_name: string,
  args: object,
  { capabilities = {}, ...more }: Record<string, any> = {},
) {
  const _meta = {
    [`${META}protocolVersion`]: VERSION,
    [`${META}clientCapabilities`]: { elicitation: {}, ...capabilities },
    [`${META}clientInfo`]: { name: 'modern', version: '1' },
  };
  const params = { name: 'exec', arguments: { server_name: 'legacy', tool_name, arguments: args }, ...more, _meta };
  const headers = { ...BOTH, 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'exec' };
  const answer = await send(url, { body: rpc('tools/call', params), headers });
  const isJson = answer.headers['content-type'] === 'application/json';
  const message = isJson ? await answer.json() : (await answer.next())?.data;
  return message?.result;
}

const question = (message: string) => ({ method: 'elicitation/create', params: { message } });
const accept = (name: string) => ({ q1: { action: 'accept', content: { name } } });

/** Asked, and answered at once. */
async function askedAndAnswered(url: string, name: string, more: object = {}) {
  const asked = await exec(url, 'ask', question(name), more);
  if (asked.requestState === undefined) return JSON.stringify(asked);
  const { requestState } = asked;
  return JSON.stringify(
    await exec(url, 'ask', question(name), { inputResponses: accept(name), requestState, ...more }),
  );
}

test.each([
  ['declare elicitation', {}],
  ['declare roots as well', { capabilities: { roots: {} } }],
])('others are asked and answered meanwhile, where all clients %s', async (_, more) => {
  const url = await start();
  const held = await exec(url, 'ask', question('Ada'), more);
  expect(held.resultType).toBe('input_required');
  for (const name of ['Grace', 'Alan']) expect(await askedAndAnswered(url, name, more)).toContain(name);
  const last = await exec(url, 'ask', question('Ada'), {
    inputResponses: accept('Ada'),
    requestState: held.requestState,
    ...more,
  });
  expect(JSON.stringify(last)).toContain('Ada');
});

test('several questions may be held at once, and afterwards one process serves everybody again', async () => {
  const url = await start();
  const pid = JSON.stringify((await exec(url, 'pid', {})).content);
  const names = ['Ada', 'Grace', 'Alan'];
  const held = [];
  for (const name of names) held.push(await exec(url, 'ask', question(name)));
  expect(held.map(({ resultType }) => resultType)).toEqual(names.map(() => 'input_required'));
  expect(JSON.stringify((await exec(url, 'pid', {})).content)).not.toBe(pid);
  for (const [at, name] of names.entries()) {
    const { requestState } = held[at];
    const done = await exec(url, 'ask', question(name), { inputResponses: accept(name), requestState });
    expect(JSON.stringify(done)).toContain(name);
  }
  expect(JSON.stringify((await exec(url, 'pid', {})).content)).toBe(pid);
});

test('where one connection was asked for, one it is: the others are told why they cannot be asked', async () => {
  const url = await start({ share: 'all' });
  const held = await exec(url, 'ask', question('Ada'));
  expect(held.resultType).toBe('input_required');
  expect(await askedAndAnswered(url, 'Grace')).toContain('several calls are under way');
});
