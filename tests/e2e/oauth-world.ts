/** A gateway with the built-in authorization server, its users in real Chromium, and a host with client documents behind TLS. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { PATIENCE } from '../setup/until.ts';
import { emptyPlace, type Place, type Running, start } from './program.ts';

export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

export const PASSWORD = 'correct horse battery staple';
export const TOKEN = 'token-of-ada-0123456789';

export const CONFIG = {
  mcpServers: { math: { type: 'builtin' }, time: { type: 'builtin' } },
  profiles: { a: { servers: ['math'] }, b: { servers: ['time'] } },
  front: { kind: 'aggregate' },
  http: {
    auth: {
      tokens: [{ name: 'ada', token: '${ADA_TOKEN}', profiles: ['a'] }],
      oauth: { mode: 'builtin', builtin: { password: '${MCPX_PASSWORD}' } },
    },
  },
};

export interface OAuthGateway {
  /** The URL without a path. */
  url: string;
  place: Place;
  running: Running;
}

export async function startGateway(env: Record<string, string> = {}, place = emptyPlace()): Promise<OAuthGateway> {
  const file = place.file('mcp.json', CONFIG);
  Object.assign(place.env, { ADA_TOKEN: TOKEN, MCPX_PASSWORD: PASSWORD, ...env });
  const running = start(['serve', file, '--http', '127.0.0.1:0'], place);
  onTestFinished(async () => {
    running.child.kill('SIGTERM');
    await running.finished;
  });
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  return { url, place, running };
}

export function launch(): Promise<Browser> {
  return chromium.launch({ ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }), args: ['--no-sandbox'] });
}

export interface Opened {
  page: Page;
  /** Errors of the browser. */
  complaints: string[];
  /** Every URL that was asked for. */
  asked: string[];
}

export async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => void complaints.push(String(error)));
  page.on('request', (request) => void asked.push(request.url()));
  await page.goto(url);
  return { page, complaints, asked };
}

/** Enters a secret on the consent page and waits for the page of the client; resolves with its address. */
export async function allow(browser: Browser, url: string, secret = PASSWORD): Promise<URL> {
  const { page } = await open(browser, url);
  await page.getByLabel('Token or password').fill(secret);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL((to) => to.searchParams.has('code'));
  return new URL(page.url());
}

/** Listens on a free port of loopback until the test ends. */
export async function listen(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await portOf(createHttpServer(listener))}`;
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createHttpServer();
  const port = await portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

export interface DocumentHost {
  /** Publishes the document of a client and returns its URL, which is the client id. */
  publish(metadata: Record<string, unknown>): string;
  /** The file with the authority of its certificate. */
  authority: string;
  asked: string[];
}

/** An https host on loopback. */
export async function documentHost(): Promise<DocumentHost> {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-documents-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=mcpx test authority');
  openssl('req', ...key, '-keyout', 'host.key', '-out', 'host.csr', '-subj', '/CN=localhost');
  writeFileSync(join(folder, 'san'), 'subjectAltName=DNS:localhost\n');
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'san'];
  openssl('x509', '-req', '-in', 'host.csr', ...sign, '-out', 'host.pem');
  const read = (name: string) => readFileSync(join(folder, name));
  const documents = new Map<string, string>();
  const asked: string[] = [];
  const server = createTlsServer({ key: read('host.key'), cert: read('host.pem') }, (request, response) => {
    asked.push(request.url ?? '');
    const text = documents.get(request.url ?? '');
    response.writeHead(text === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(text ?? '{}');
  });
  const port = await portOf(server);
  return {
    asked,
    authority: join(folder, 'ca.pem'),
    publish(metadata) {
      const path = `/client-${documents.size}.json`;
      const url = `https://localhost:${port}${path}`;
      documents.set(path, JSON.stringify({ client_id: url, token_endpoint_auth_method: 'none', ...metadata }));
      return url;
    },
  };
}

/** All text below a folder. */
export function contents(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
}
