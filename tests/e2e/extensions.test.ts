/** Unknown messages: notifications reach the client whose call they belong to, and between calls those that share the server; methods of extensions reach the server that has them. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Gateway, startGateway, TRANSPARENT } from '../interop/gateway.ts';
import { fixture } from '../upstream/world.ts';

let gateway: Gateway;
beforeAll(async () => {
  const fixed = { command: process.execPath, args: [fixture('stdio.mjs'), 'extension=io.modelcontextprotocol/skills'] };
  gateway = await startGateway({ ...TRANSPARENT, mcpServers: { acme: fixed } });
});
afterAll(() => gateway?.stop());

const CARRIERS = {
  stdio: () => new StdioClientTransport({ ...gateway.command, stderr: 'ignore' }),
  HTTP: () => new StreamableHTTPClientTransport(new URL(gateway.url)),
};

test.each(Object.entries(CARRIERS))(
  'a client over %s hears a notification of an extension',
  async (_, carrier: () => any) => {
    const client = new Client({ name: 'x', version: '1' });
    const heard: unknown[] = [];
    client.fallbackNotificationHandler = async ({ method, params }) => void heard.push([method, params]);
    await client.connect(carrier());
    onTestFinished(() => client.close());
    const said = (tool: string) => ({
      name: tool,
      arguments: { method: 'notifications/acme/changed', params: { tool } },
    });
    const expected = (tool: string) => ['notifications/acme/changed', expect.objectContaining({ tool })];
    await client.callTool(said('say'));
    await expect.poll(() => heard).toEqual([expected('say')]);
    await client.callTool(said('say-afterwards'));
    await expect.poll(() => heard).toEqual([expected('say'), expected('say-afterwards')]);
  },
);

test.each(Object.entries(CARRIERS))(
  'a client over %s uses an extension that mcpx announces',
  async (_, carrier: () => any) => {
    const client = new Client({ name: 'x', version: '1' });
    await client.connect(carrier());
    onTestFinished(() => client.close());
    expect(client.getServerCapabilities()).toMatchObject({ extensions: { 'io.modelcontextprotocol/skills': {} } });
    const result = await client.request({ method: 'skills/list', params: { cursor: 'x' } } as any, ResultSchema);
    expect(result).toEqual({ skills: [], params: { cursor: 'x' } });
    await expect(client.request({ method: 'skills/unheard-of' } as any, ResultSchema)).rejects.toMatchObject({
      code: -32601,
    });
  },
);

test('a client of 2026-07-28 uses it as well, and an unknown method is 404', async () => {
  const ask = (method: string) => {
    const version = '2026-07-28';
    const meta = 'io.modelcontextprotocol/';
    const _meta = { [`${meta}protocolVersion`]: version, [`${meta}clientCapabilities`]: {} };
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const own = { 'mcp-protocol-version': version, 'mcp-method': method };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta } });
    return fetch(gateway.url, { method: 'POST', headers: { ...headers, ...own }, body });
  };
  expect(await (await ask('skills/list')).json()).toMatchObject({ result: { skills: [] } });
  const unknown = await ask('skills/unheard-of');
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { code: -32601 } }]);
});
