/** A protected MCP server on the official SDK, with `oidc-provider` as its authorization server, both on loopback. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, Server as ModernServer } from '@modelcontextprotocol/server';
import type { Configuration, default as Provider } from 'oidc-provider';
import { onTestFinished, vi } from 'vitest';

export interface ProtectedWorld {
  /** The URL of the MCP server. */
  url: string;
  issuer: string;
  provider: Provider;
  /** Requests to the authorization server, such as `POST /token`. */
  asked: string[];
  /** Bearer tokens that the MCP server received. */
  bearers: string[];
  /** Makes all access tokens that were issued so far invalid for the MCP server. */
  expireAll(): void;
  /** Scopes that the next calls of a tool need. */
  demand(scope: string): void;
}

export interface WorldOptions {
  /** Changes the configuration of the authorization server. */
  configuration?: Configuration;
  /** The MCP server: the first major of the SDK (default), or the second one for 2026-07-28 only. */
  era?: 'legacy' | 'modern';
  /** True if the server lists its tools without a token and refuses only calls. */
  onlyCalls?: boolean;
  /** True if the server answers `initialize` without a token. */
  answersHandshake?: boolean;
  /** Handles a request to the authorization server instead of it; returns true if it did. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;
  /** Changes the protected-resource metadata. */
  metadata?: (honest: Record<string, unknown>) => Record<string, unknown>;
}

export async function protectedWorld(options: WorldOptions = {}): Promise<ProtectedWorld> {
  const resource = await listen();
  const url = `${origin(resource)}/mcp`;
  const { issuer, provider, asked } = await authorizationServer(url, options);
  const bearers: string[] = [];
  const expired = new Set<string>();
  const answer = options.era === 'modern' ? modernAnswer() : answerMcp;
  let needed: string | undefined;
  serve(resource, async (request, response) => {
    const metadata = '/.well-known/oauth-protected-resource/mcp';
    if (request.url === metadata) {
      const honest = { resource: url, authorization_servers: [issuer], scopes_supported: ['read'] };
      return json(response, 200, options.metadata?.(honest) ?? honest);
    }
    const body = await readBody(request);
    const isCall = body.includes('"tools/call"');
    const isFree = options.onlyCalls ? !isCall : options.answersHandshake && body.includes('"initialize"');
    const challenge = (more = '') => `Bearer resource_metadata="${origin(resource)}${metadata}"${more}`;
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (bearer !== undefined) bearers.push(bearer);
    if (!isFree || bearer !== undefined) {
      const token = bearer === undefined || expired.has(bearer) ? undefined : await findToken(provider, bearer);
      if (token === undefined || token.aud !== url) return refuse(response, 401, challenge(', scope="read"'));
      if (isCall && needed !== undefined && !String(token.scope).split(' ').includes(needed))
        return refuse(response, 403, challenge(`, error="insufficient_scope", scope="${needed}"`));
    }
    await answer(request, response, body);
  });
  return {
    ...{ url, issuer, provider, asked, bearers },
    expireAll: () => {
      for (const bearer of bearers) expired.add(bearer);
    },
    demand: (scope) => {
      needed = scope;
    },
  };
}

/** Starts `oidc-provider`, which agrees to everything; `resource` is the one of requests that name none. */
export async function authorizationServer(
  resource: string,
  { configuration, intercept }: Pick<WorldOptions, 'configuration' | 'intercept'> = {},
): Promise<Pick<ProtectedWorld, 'issuer' | 'provider' | 'asked'>> {
  const server = await listen();
  const issuer = origin(server);
  const provider = await createProvider(issuer, resource, configuration);
  const asked: string[] = [];
  const callback = provider.callback();
  serve(server, async (request, response) => {
    asked.push(`${request.method} ${request.url?.replace(/\?.*/, '')}`);
    if ((await intercept?.(request, response)) === true) return;
    if (request.url?.startsWith('/interaction/')) return agree(provider, request, response);
    callback(request, response);
  });
  return { issuer, provider, asked };
}

/** Follows the redirects of a sign-in as a browser with cookies does; resolves with the address of the last page. */
export function browse(start: string, { stopAt }: { stopAt?: string } = {}): Promise<string> {
  return createBrowser()(start, { stopAt });
}

/** Opens the page of a device sign-in and confirms its code. */
export async function confirmDevice(url: string): Promise<string> {
  const visit = createBrowser();
  const hidden = (page: string) =>
    Object.fromEntries([...page.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]));
  const sent = hidden(await visit(url));
  const asked = hidden(await visit(url.replace(/\?.*/, ''), { form: sent }));
  return visit(url.replace(/\?.*/, ''), { form: { ...sent, ...asked, confirm: 'yes' } });
}

interface Visit {
  /** The beginning of the address at which the browser stops. */
  stopAt?: string | undefined;
  form?: Record<string, string | undefined>;
}

function createBrowser() {
  const cookies = new Map<string, string>();
  return async (start: string, { stopAt, form }: Visit = {}): Promise<string> => {
    let url = start;
    let body = form && new URLSearchParams(form as Record<string, string>);
    for (let hop = 0; hop < 15; hop++) {
      if (stopAt !== undefined && url.startsWith(stopAt)) return url;
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const method = body === undefined ? {} : { method: 'POST', body };
      const response = await fetch(url, { redirect: 'manual', headers: { cookie }, ...method });
      body = undefined;
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const to = response.headers.get('location');
      if (to === null) return `${response.status} ${await response.text()}`;
      url = new URL(to, url).href;
    }
    throw new Error(`too many redirects: ${url}`);
  };
}

async function createProvider(issuer: string, resource: string, more: Configuration = {}): Promise<Provider> {
  // It prints advice about settings for production.
  for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
  const { default: Provider } = await import('oidc-provider');
  const { features, ...rest } = more;
  return new Provider(issuer, {
    clients: [],
    scopes: ['openid', 'offline_access', 'read', 'write'],
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none' },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    rotateRefreshToken: true,
    ttl: { AccessToken: 3600, RefreshToken: 86_400 },
    cookies: { keys: ['test'] },
    ...rest,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'read write', audience: resource, accessTokenFormat: 'opaque' }),
      },
      ...features,
    },
  } as Configuration);
}

/** Signs the user in and grants everything that the client asked for, without a page. */
async function agree(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login')
    return provider.interactionFinished(
      request,
      response,
      { login: { accountId: 'ada' } },
      { mergeWithLastSubmission: false },
    );
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const grant =
    known ?? new provider.Grant({ accountId: session?.accountId ?? 'ada', clientId: String(params.client_id) });
  grant.addOIDCScope(String(params.scope ?? ''));
  grant.addResourceScope(String(params.resource), String(params.scope ?? ''));
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

/** Returns a token of a user or of a machine. */
async function findToken({ AccessToken, ClientCredentials }: Provider, bearer: string) {
  return (await AccessToken.find(bearer)) ?? (await ClientCredentials.find(bearer));
}

async function answerMcp(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
  const server = new McpServer({ name: 'protected', version: '1.0.0' });
  server.registerTool(
    'whoami',
    { description: 'Tells who is signed in.', annotations: { readOnlyHint: true } },
    () => ({
      content: [{ type: 'text', text: 'signed in as ada' }],
    }),
  );
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => void server.close());
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, response, body === '' ? undefined : JSON.parse(body));
}

/** Answers with a server on the second major of the SDK, which speaks 2026-07-28 only. */
function modernAnswer(): typeof answerMcp {
  const handle = toNodeHandler(
    createMcpHandler(
      () => {
        const server = new ModernServer({ name: 'protected', version: '1.0.0' }, { capabilities: { tools: {} } });
        const inputSchema = { type: 'object' as const };
        server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'whoami', inputSchema }] }));
        server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'signed in as ada' }] }));
        return server;
      },
      { legacy: 'reject' },
    ),
  );
  return async (request, response, body) =>
    handle(request as Parameters<typeof handle>[0], response, body === '' ? undefined : JSON.parse(body));
}

async function listen(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return server;
}

function serve(server: Server, listener: (...args: Parameters<RequestListener>) => unknown): void {
  server.on('request', (request, response) => void listener(request, response));
}

function origin(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function refuse(response: ServerResponse, status: number, challenge: string): void {
  response.writeHead(status, { 'www-authenticate': challenge }).end();
}
