/** The built-in authorization server on a real socket, a client program, and a browser that keeps cookies and has no scripts. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
  type ServerSettings,
} from '../../../src/listen/authorization-server/authorization-server.ts';
import { createSecretKey } from '../../../src/listen/mcp/secret-key.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { BOTH, rpc, send, stage, token } from '../harness.ts';

export const PASSWORD = 'correct horse battery';
export const REDIRECT = 'http://127.0.0.1:7777/callback';
export const TOKENS = [
  token('ci', 'token-of-ci', { profiles: ['default'] }),
  token('ops', 'token-of-ops', { admin: true }),
];

export interface Served {
  /** The URL of the gateway, which is the issuer. */
  base: string;
  server: AuthorizationServer;
  file: string;
  logged: string[];
  happenings: unknown[];
  /** Applies other settings, as a reload does. */
  configure(settings: Partial<ServerSettings>): void;
  clock: { now: number };
  /** Open MCP sessions. */
  open: Set<unknown>;
}

type Options = Pick<AuthorizationServerOptions, 'fetchDocument'> & {
  file?: string;
  settings?: Partial<ServerSettings>;
  oauth?: Partial<typeof DEFAULTS.http.auth.oauth>;
  http?: Partial<typeof DEFAULTS.http>;
};

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-as-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function serve(options: Options = {}): Promise<Served> {
  const folder = options.file === undefined ? tempFolder() : '';
  const file = options.file ?? join(folder, 'grants.json');
  const clock = { now: Date.now() };
  const warnings: string[] = [];
  const log = (line: string) => void warnings.push(line);
  const settings: ServerSettings = {
    ...{ tokens: TOKENS, password: PASSWORD, lifetimes: { access: 3_600_000, refresh: 86_400_000 } },
    scopeOf: (profile) => profile,
    ...options.settings,
  };
  const secretKey = createSecretKey({ file: `${file}.key` });
  const { fetchDocument } = options;
  const server = createAuthorizationServer(
    { file, secretKey, fetchDocument, log: { warn: log, debug: log }, now: () => clock.now },
    settings,
  );
  const authOf = (tokens: ServerSettings['tokens']) => createAuthenticator([...tokens], { accessTokens: server });
  const http = {
    ...options.http,
    auth: { tokens: [], oauth: { ...DEFAULTS.http.auth.oauth, mode: 'builtin' as const, ...options.oauth } },
  };
  const { listener, logged, happenings, open } = await stage(
    {},
    { http, auth: authOf(settings.tokens), authorizationServer: server, profiles: ['default', 'other'] },
  );
  return {
    ...{ base: listener.url, server, file, happenings, clock, open },
    logged: new Proxy(logged, { get: (target, key) => Reflect.get([...target, ...warnings], key) }),
    configure(more) {
      const next = { ...settings, ...more };
      server.configure(next);
      listener.update({ ...DEFAULTS.http, ...http }, authOf(next.tokens));
    },
  };
}

/** A page, as the browser of a user sees it. */
export interface Page {
  status: number;
  html: string;
  headers: Headers;
  /** The address to which the page or the response leads. */
  onward: URL | undefined;
}

export class Browser {
  #cookie = '';
  readonly language: string;

  constructor(language = 'en-US,en;q=0.9') {
    this.language = language;
  }

  async open(url: string | URL): Promise<Page> {
    return this.#page(await fetch(url, { redirect: 'manual', headers: this.#headers() }));
  }

  /** Sends the form of a page. */
  async answer(base: string, page: Pick<Page, 'html'>, fields: Record<string, string>, headers = {}): Promise<Page> {
    const [, form = ''] = /name="form" value="([^"]*)"/.exec(page.html) ?? [];
    const body = new URLSearchParams({ form, decision: 'allow', ...fields });
    const sent = { ...this.#headers(), origin: base, ...headers };
    return this.#page(await fetch(`${base}/authorize`, { method: 'POST', redirect: 'manual', body, headers: sent }));
  }

  #headers(): Record<string, string> {
    return { 'accept-language': this.language, ...(this.#cookie && { cookie: this.#cookie }) };
  }

  async #page(response: Response): Promise<Page> {
    const [cookie] = response.headers.getSetCookie();
    if (cookie !== undefined) this.#cookie = cookie.split(';')[0] ?? '';
    const html = await response.text();
    const [, refresh] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(html) ?? [];
    const to =
      response.headers.get('location') ?? refresh?.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code));
    return {
      status: response.status,
      html,
      headers: response.headers,
      onward: to === undefined ? undefined : new URL(to),
    };
  }
}

export async function register(base: string, more: object = {}): Promise<string> {
  const body = { client_name: 'Test app', redirect_uris: [REDIRECT], ...more };
  const response = await send(`${base}/register`, { body });
  return (await response.json()).client_id;
}

export interface Request {
  url: URL;
  verifier: string;
}

/** An authorization request; a value of null leaves the parameter out. */
export function requestOf(base: string, clientId: string, more: Record<string, string | null> = {}): Request {
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL(`${base}/authorize`);
  const parameters = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: REDIRECT, state: 'the state' },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    ...{ code_challenge_method: 'S256', resource: `${base}/mcp`, ...more },
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
  return { url, verifier };
}

/** Sends a form to an endpoint. */
export async function post(
  base: string,
  path: string,
  fields: Record<string, string>,
): Promise<{ status: number; body: any }> {
  const response = await fetch(`${base}${path}`, { method: 'POST', body: new URLSearchParams(fields) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

export interface SignedIn {
  clientId: string;
  code: string;
  verifier: string;
  tokens: { access_token: string; refresh_token: string; scope: string; expires_in: number };
  /** The fields with which the code was exchanged. */
  exchange: Record<string, string>;
}

/** Does what a client and its user do until the client has tokens. */
export async function signIn(
  { base }: Pick<Served, 'base'>,
  {
    secret = PASSWORD,
    clientId,
    ...more
  }: { secret?: string; clientId?: string; [parameter: string]: string | null | undefined } = {},
): Promise<SignedIn> {
  const id = clientId ?? (await register(base));
  const { url, verifier } = requestOf(base, id, more as Record<string, string | null>);
  const browser = new Browser();
  const done = await browser.answer(base, await browser.open(url), { secret });
  const code = done.onward?.searchParams.get('code') ?? '';
  const exchange = {
    ...{ grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier },
    redirect_uri: (more.redirect_uri as string) ?? REDIRECT,
  };
  const { body } = await post(base, '/token', exchange);
  return { clientId: id, code, verifier, tokens: body, exchange };
}

/** The status of `tools/list` with a token, at an MCP endpoint. */
export async function listTools(base: string, bearer: string, path = '/mcp'): Promise<number> {
  const headers = { ...BOTH, authorization: `Bearer ${bearer}` };
  return (await send(`${base}${path}`, { body: rpc('tools/list'), headers })).status;
}
