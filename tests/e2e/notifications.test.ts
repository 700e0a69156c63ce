/** Notifications of a server that mcpx does not know reach the client whose call they belong to, and between calls those that share the server. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Gateway, startGateway, TRANSPARENT } from '../interop/gateway.ts';
import { fixture } from '../upstream/world.ts';

let gateway: Gateway;
beforeAll(async () => {
  const fixed = { command: process.execPath, args: [fixture('stdio.mjs')] };
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
