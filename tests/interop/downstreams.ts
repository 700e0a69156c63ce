/** The clients of the interop tests, each behind the same few verbs. */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { oneMessagePerTurn } from '../setup/one-message-per-turn.ts';
import { PATIENCE } from '../setup/until.ts';
import {
  ANSWERS,
  type Asked,
  type Asking,
  type Conversation,
  capabilitiesOf,
  Heard,
  type Target,
} from './conversation.ts';
import { talkBytes, talkHttp } from './raw.ts';
import type { Era, Transport } from './upstreams.ts';

export interface Downstream {
  name: string;
  era: Era;
  /** Without a session nobody can be asked, and nothing is told between two requests. */
  session: Record<Transport, boolean>;
  open(transport: Transport, target: Target, can: Asked[]): Promise<Conversation>;
}

const INFO = { name: 'interop', version: '1.0.0' };

/** Typed verbs where there are any: they check what they receive. */
const VERBS = new Map([
  ['tools/list', 'listTools'],
  ['prompts/list', 'listPrompts'],
  ['prompts/get', 'getPrompt'],
  ['resources/list', 'listResources'],
  ['resources/templates/list', 'listResourceTemplates'],
  ['resources/read', 'readResource'],
  ['completion/complete', 'complete'],
]);

function optionsOf({ progress, signal }: Asking) {
  return { timeout: PATIENCE, ...(progress && { onprogress: progress }), ...(signal && { signal }) };
}

function conversationOf(client: any, call: (params: any, options: object) => Promise<any>): Conversation {
  const heard = new Heard();
  client.fallbackNotificationHandler = async ({ method, params }: { method: string; params: unknown }) =>
    heard.add(method, params);
  return {
    heard,
    request(method, params = {}, asking = {}) {
      const options = optionsOf(asking);
      if (method === 'tools/call') return call(params, options);
      if (method === 'logging/setLevel') return client.setLoggingLevel(params.level, options);
      const verb = VERBS.get(method);
      if (verb === undefined) throw new Error(`no verb for ${method}`);
      return client[verb](params, options);
    },
    listen: async () => undefined,
    close: () => client.close(),
  };
}

const V1_SCHEMAS = {
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  'roots/list': ListRootsRequestSchema,
};
const QUESTION = {
  sampling: 'sampling/createMessage',
  elicitation: 'elicitation/create',
  roots: 'roots/list',
} as const satisfies Record<Asked, keyof typeof ANSWERS>;

async function openV1(transport: Transport, target: Target, can: Asked[]): Promise<Conversation> {
  const client = new Client(INFO, { capabilities: capabilitiesOf(can) });
  for (const one of can) client.setRequestHandler(V1_SCHEMAS[QUESTION[one]] as any, () => ANSWERS[QUESTION[one]]);
  const conversation = conversationOf(client, (params, options) => client.callTool(params, undefined, options));
  const carrier =
    transport === 'stdio'
      ? new StdioClientTransport({ ...target.command, stderr: 'ignore' })
      : new StreamableHTTPClientTransport(new URL(target.url));
  await client.connect(carrier as any);
  oneMessagePerTurn(carrier);
  return conversation;
}

const openV2 =
  (era: Era) =>
  async (transport: Transport, target: Target, can: Asked[]): Promise<Conversation> => {
    const mode = era === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const);
    const client = new ModernClient(INFO, { capabilities: capabilitiesOf(can), versionNegotiation: { mode } });
    for (const one of can) client.setRequestHandler(QUESTION[one], () => ANSWERS[QUESTION[one]] as any);
    const conversation = conversationOf(client, (params, options) => client.callTool(params, options));
    const carrier =
      transport === 'stdio'
        ? new ModernStdio({ ...target.command, stderr: 'ignore' })
        : new ModernHttp(new URL(target.url));
    await client.connect(carrier);
    oneMessagePerTurn(carrier);
    if (era === 'legacy') return conversation;
    return {
      ...conversation,
      async listen() {
        await client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
      },
    };
  };

const BOTH = { stdio: true, http: true };

export const DOWNSTREAMS: Downstream[] = [
  { name: 'the client of SDK v1', era: 'legacy', session: BOTH, open: openV1 },
  { name: 'the client of SDK v2, legacy era', era: 'legacy', session: BOTH, open: openV2('legacy') },
  { name: 'the client of SDK v2, modern era', era: 'modern', session: BOTH, open: openV2('modern') },
  {
    name: 'no client at all',
    era: 'legacy',
    // Over HTTP: what anybody types with curl, without initialize and without a session.
    session: { stdio: true, http: false },
    open: (transport, target, can) => (transport === 'stdio' ? talkBytes(target, can) : talkHttp(target)),
  },
];
