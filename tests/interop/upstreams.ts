/** The servers of the interop tests, and how each feature of MCP is asked for there. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { fixture, serverScript } from '../e2e/program.ts';

export type Transport = 'stdio' | 'http';
export type Era = 'legacy' | 'modern';

/** A tool call, and what its answer says when the feature worked. */
export interface Call {
  name: string;
  arguments: Record<string, unknown>;
  says: RegExp;
}

/** One way to use each feature. */
export interface Words {
  echo: Call;
  /** Three steps with progress. */
  steps: Call;
  /** Reports progress at once and does not end by itself; `label` tells calls apart. */
  wait(label: string): Call;
  /** Says whether the call with that label was cancelled; absent where the server does not notice. */
  noticed?(label: string): Call;
  sample: Call;
  elicit: Call;
  /** Asks for a page to be opened. */
  open: Call;
  roots: Call;
  /** Logs one message, and what follows to make it stop. */
  log: { call: Call; data: RegExp; after?: Call };
  /** Adds something to a list and announces it: under the name that it is given, or one that the answer says. */
  grow: { call(name: string): Call; list: 'tools' | 'resources' };
  prompt: { name: string; arguments: Record<string, string>; says: RegExp };
  resource: { uri: string; says: RegExp };
  /** A URI that no list has, but a template. */
  expanded: { template: string; uri: string; says: RegExp };
  completion: { ref: Record<string, string>; argument: { name: string; value: string }; values: string[] };
}

export interface Upstream {
  name: string;
  era: Era;
  /** The entry of the config; an HTTP server is started, and ended by `stop`. */
  serve: Record<Transport, () => Promise<Served>>;
  words: Words;
}

export interface Served {
  entry: Record<string, unknown>;
  stop(): void;
}

const node = process.execPath;
const call = (name: string, args: Record<string, unknown>, says: RegExp): Call => ({ name, arguments: args, says });

const OWN: Words = {
  echo: call('echo', { text: 'heard' }, /^heard$/),
  steps: call('steps', { count: 3 }, /^3 steps$/),
  wait: (label) => call('wait', { label }, /./),
  noticed: (label) => call('cancelled', { label }, /^true$/),
  sample: call('sample', { prompt: 'say something' }, /^the model said: sampled by the client$/),
  elicit: call('elicit', { message: 'who?' }, /^accept: Ada$/),
  open: call('open', { url: 'https://example.com/' }, /^opened: accept$/),
  roots: call('roots', {}, /^file:\/\/\/interop$/),
  log: { call: call('log', { level: 'warning', data: 'a word' }, /^logged$/), data: /^a word$/ },
  grow: { call: () => call('grow', {}, /^grown_\d+$/), list: 'tools' },
  prompt: { name: 'greeting', arguments: { who: 'Ada' }, says: /^Hello, Ada!$/ },
  resource: { uri: 'note://one', says: /^the first note$/ },
  expanded: { template: 'note://by/{author}', uri: 'note://by/Ada', says: /^written by Ada$/ },
  completion: {
    ref: { type: 'ref/prompt', name: 'greeting' },
    argument: { name: 'who', value: 'A' },
    values: ['Ada', 'Alan'],
  },
};

const operation = (duration: number, steps: number) =>
  call('trigger-long-running-operation', { duration, steps }, /completed/);
const TOGGLE = 'toggle-simulated-logging';

const EVERYTHING: Words = {
  echo: call('echo', { message: 'heard' }, /^Echo: heard$/),
  steps: operation(0.15, 3),
  wait: () => operation(60, 1200),
  sample: call('trigger-sampling-request', { prompt: 'say something' }, /sampled by the client/),
  elicit: call('trigger-elicitation-request', {}, /Name: Ada/),
  open: call('trigger-url-elicitation', { url: 'https://example.com/' }, /accept|completed/i),
  roots: call('get-roots-list', {}, /file:\/\/\/interop/),
  log: { call: call(TOGGLE, {}, /^Started/), data: /level.message/, after: call(TOGGLE, {}, /^Stopped/) },
  grow: {
    call: (name) => call('gzip-file-as-resource', { name, data: 'data:text/plain,interop' }, /^/),
    list: 'resources',
  },
  prompt: { name: 'args-prompt', arguments: { city: 'Paris' }, says: /Paris/ },
  resource: { uri: 'demo://resource/static/document/architecture.md', says: /Everything/ },
  expanded: {
    template: 'demo://resource/dynamic/text/{resourceId}',
    uri: 'demo://resource/dynamic/text/7',
    says: /Resource 7/,
  },
  completion: {
    ref: { type: 'ref/prompt', name: 'completable-prompt' },
    argument: { name: 'department', value: 'S' },
    values: ['Sales', 'Support'],
  },
};

const overStdio =
  (...args: string[]) =>
  async (): Promise<Served> => ({
    entry: { command: node, args },
    stop: () => undefined,
  });

/** A server that prints where it listens, and ends with its stdin. */
const overHttp =
  (...args: string[]) =>
  () =>
    listening(args, process.env, /listening on (\d+)/);

function listening(args: string[], env: NodeJS.ProcessEnv, ready: RegExp): Promise<Served> {
  const child = spawn(node, args, { stdio: 'pipe', env });
  const stop = () => void child.kill('SIGKILL');
  return new Promise((resolve, reject) => {
    let said = '';
    const look = (text: string) => {
      said += text;
      const port = ready.exec(said)?.[1];
      if (port !== undefined) resolve({ entry: { type: 'http', url: `http://127.0.0.1:${port}/mcp` }, stop });
    };
    child.stdout.setEncoding('utf8').on('data', look);
    child.stderr.setEncoding('utf8').on('data', look);
    child.once('exit', () => reject(new Error(`${args.join(' ')} ended: ${said}`)));
  });
}

/** It listens where it is told and nowhere else. */
async function everythingOverHttp(): Promise<Served> {
  const port = await freePort();
  const args = [serverScript('server-everything'), 'streamableHttp'];
  return listening(args, { ...process.env, PORT: String(port) }, /listening on port (\d+)/);
}

function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

const V1 = fixture('interop-v1.mjs');
const V2 = fixture('interop-v2.mjs');

export const UPSTREAMS = {
  v1: {
    name: 'a server of SDK v1',
    era: 'legacy',
    serve: { stdio: overStdio(V1, 'stdio'), http: overHttp(V1, 'http') },
    words: OWN,
  },
  v2Legacy: {
    name: 'a server of SDK v2, legacy era',
    era: 'legacy',
    serve: { stdio: overStdio(V2, 'stdio', 'legacy'), http: overHttp(V2, 'http', 'legacy') },
    words: OWN,
  },
  v2Modern: {
    name: 'a server of SDK v2, modern era',
    era: 'modern',
    serve: { stdio: overStdio(V2, 'stdio', 'modern'), http: overHttp(V2, 'http', 'modern') },
    words: OWN,
  },
  everything: {
    name: 'server-everything',
    era: 'legacy',
    serve: { stdio: overStdio(serverScript('server-everything')), http: everythingOverHttp },
    words: EVERYTHING,
  },
} as const satisfies Record<string, Upstream>;
