/** The official client against the HTTP listener: the whole program behind it, and a scripted front for both directions. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test } from 'vitest';
import { createApp } from '../../../src/app/app.ts';
import { type Config, DEFAULTS } from '../../../src/config/config.ts';
import { listenHttp } from '../../../src/listen/http/http.ts';
import { SILENT } from '../../../src/observe/log.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { oneMessagePerTurn } from '../../setup/one-message-per-turn.ts';
import { specOf } from '../../world.ts';
import { type Act, closeAll, gate, stage } from '../harness.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await closeAll();
});

const TRANSPORTS = {
  'Streamable HTTP': (url: string) => new StreamableHTTPClientTransport(new URL(url)),
  'HTTP+SSE': (url: string) => new SSEClientTransport(new URL(url.replace(/\/mcp$/, '/sse'))),
};

async function dial(transport: (url: string) => any, url: string, name = 'one') {
  const client = new Client({ name, version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: 'accept',
    content: { said: `${name}: ${params.message}` },
  }));
  const carrier = transport(url);
  await client.connect(carrier);
  oneMessagePerTurn(carrier);
  ends.push(() => client.close());
  return { client, carrier };
}

const acts: Record<string, Act> = {
  count: async ({ to }, { progress }) => {
    for (let step = 1; step <= to; step++) progress?.({ progress: step, total: to });
    return { content: [{ type: 'text', text: 'counted' }] };
  },
  ask: async ({ message }, { ask }) => {
    const answer: any = await ask?.('elicitation/create', {
      message,
      requestedSchema: { type: 'object', properties: {} },
    });
    return { content: [{ type: 'text', text: answer.content.said }] };
  },
};

describe.each(Object.entries(TRANSPORTS))('%s', (_, transport) => {
  test('tools of the whole program', async () => {
    const config: Config = {
      files: [],
      settings: { ...DEFAULTS, http: { ...DEFAULTS.http, port: 0, legacySse: true } },
      profiles: [
        {
          name: 'default',
          enabled: true,
          servers: [specOf('math')],
          tools: {},
          resources: {},
          prompts: {},
          front: 'aggregate',
        },
      ],
      warnings: [],
    };
    const app = createApp(config, { log: SILENT });
    const settings = config.settings.http;
    const listener = await listenHttp({ gateway: app, settings, auth: createAuthenticator([]), log: SILENT });
    ends.push(async () => {
      await listener.close();
      await app.stop();
    });
    const { client } = await dial(transport, `${listener.url}/mcp`);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('math__calculate');
    const result = await client.callTool({ name: 'math__calculate', arguments: { expression: '6*7' } });
    expect(JSON.stringify(result.content)).toContain('42');
  });

  test('progress, questions and changes, two clients at once without mixing them up', async () => {
    const scene = await stage(acts, { http: { legacySse: true } });
    const clients = await Promise.all(['one', 'two'].map((name) => dial(transport, scene.url, name)));
    await Promise.all(
      clients.map(async ({ client }, i) => {
        const steps: number[] = [];
        const to = 3 + i;
        await client.callTool({ name: 'count', arguments: { to } }, undefined, {
          onprogress: ({ progress }) => steps.push(progress),
        });
        expect(steps).toEqual(Array.from({ length: to }, (_, step) => step + 1));
        const name = ['one', 'two'][i];
        const answer = await client.callTool({ name: 'ask', arguments: { message: 'who' } });
        expect(answer.content).toEqual([{ type: 'text', text: `${name}: who` }]);
      }),
    );
    const changed = Promise.all(
      clients.map(
        ({ client }) =>
          new Promise<void>((resolve) =>
            client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
          ),
      ),
    );
    const tell = setInterval(() => {
      for (const { downstream } of scene.open) downstream.notify('notifications/tools/list_changed');
    }, 20);
    await changed;
    clearInterval(tell);
  });

  test('a cancelled call is aborted', async () => {
    const aborted = gate();
    const reached = gate();
    const { url } = await stage(
      {
        wait: (_, { signal }) => {
          signal.addEventListener('abort', () => aborted.open());
          reached.open();
          return new Promise(() => undefined);
        },
      },
      { http: { legacySse: true } },
    );
    const { client } = await dial(transport, url);
    const stop = new AbortController();
    await client.ping();
    const pending = client.callTool({ name: 'wait' }, undefined, { signal: stop.signal });
    await reached.promise;
    stop.abort('enough');
    await expect(pending).rejects.toThrow('enough');
    await aborted.promise;
  });
});

test('a stream that is cut in the middle of a call is resumed by the client itself', async () => {
  const release = gate();
  const { url } = await stage({
    work: async (_, { progress }) => {
      progress?.({ progress: 1 });
      await release.promise;
      progress?.({ progress: 2 });
      return { content: [{ type: 'text', text: 'done' }] };
    },
  });
  // Cuts the body of the answer to the call after its first piece.
  const cut = gate<() => void>();
  const fetching: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== 'POST' || !String(init.body).includes('"work"') || response.body === null) return response;
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const writer = body.writable.getWriter();
    const reader = response.body.getReader();
    cut.open(() => {
      void reader.cancel();
      void writer.close();
    });
    void (async () => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) await writer.write(piece.value);
    })().catch(() => undefined);
    return new Response(body.readable, { status: response.status, headers: response.headers });
  };
  const { client } = await dial((to) => new StreamableHTTPClientTransport(new URL(to), { fetch: fetching }), url);
  const steps: number[] = [];
  const call = client.callTool({ name: 'work' }, undefined, {
    onprogress: ({ progress }) => {
      steps.push(progress);
      if (progress === 1) void cut.promise.then((now) => now()).then(() => release.open());
    },
  });
  expect((await call).content).toEqual([{ type: 'text', text: 'done' }]);
  expect(steps).toEqual([1, 2]);
});

test('the client ends its session with DELETE', async () => {
  const { url, open } = await stage(acts);
  const { carrier } = await dial(TRANSPORTS['Streamable HTTP'], url);
  expect(open.size).toBe(1);
  await carrier.terminateSession();
  expect(open.size).toBe(0);
});
