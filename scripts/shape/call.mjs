/** Measures what a warm call and a start of mcpx cost, stdio to stdio and from source, without the clock: counts and bytes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { at, BuildError, hostTarget } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';

/** Calls before those that are measured, so that everything that happens once has happened. */
const WARM_UP = 50;
/** Calls whose functions and bytes are counted; their mean hides what happens now and then. */
const COUNTED = 200;
const PATIENCE = 60_000;
/** Milliseconds between two lists, and after which a start has written its files. */
const POLL = 50;
const WRITTEN = 500;

const CALLS = {
  aggregate: { name: 'load__lines', arguments: { size: 100 } },
  compact: { name: 'exec', arguments: { server_name: 'load', tool_name: 'lines', arguments: { size: 100 } } },
};

/** Sends requests as lines and resolves with their answers. */
function createClient(child) {
  const waiting = new Map();
  let lastId = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  return {
    notify: (method) => send({ method }),
    request(method, params) {
      const id = ++lastId;
      send({ id, method, params });
      return new Promise((resolve) => waiting.set(id, resolve));
    },
  };
}

/** Begins a session and returns what a measurement needs: calls of the front's tool, and commands to the probe. */
async function openSession(child, front) {
  const { notify, request } = createClient(child);
  const clientInfo = { name: 'shape', version: '1' };
  await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  notify('notifications/initialized');
  return {
    async tell(command) {
      child.send(command);
      return (await once(child, 'message'))[0];
    },
    /** Resolves when so many tools are listed. */
    async listed(count) {
      for (;;) {
        const { result } = await request('tools/list', {});
        if (result.tools.length >= count) return;
        await delay(POLL);
      }
    },
    async call(times) {
      for (let count = 0; count < times; count++) {
        const { result, error } = await request('tools/call', CALLS[front]);
        if (error !== undefined || result.isError)
          throw new BuildError(`the call failed: ${JSON.stringify(error ?? result)}`);
      }
    },
  };
}

/** Runs `measure` in a session with mcpx from source, whose home is `folder`. */
async function withMcpx({ folder, front, servers = 1 }, measure) {
  const { file: node } = await pinnedNode(hostTarget());
  const config = join(folder, 'mcpx.json');
  const server = { command: process.execPath, args: [at('scripts', 'bench', 'load-upstream.mjs')] };
  const names = Array.from({ length: servers }, (_, index) => (index === 0 ? 'load' : `load${index}`));
  writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, server])) }));
  const probe = pathToFileURL(at('scripts', 'shape', 'call-probe.mjs')).href;
  const args = ['--no-warnings', '--import', probe, at('src', 'main.ts'), 'serve', config, '--front', front];
  const child = spawn(node, args, {
    env: { HOME: folder, MCPX_HOME: folder, PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
  const ended = once(child, 'close').then(([code, signal]) => {
    throw new BuildError(`mcpx ended with ${signal ?? code} before it was measured`);
  });
  try {
    return await Promise.race([openSession(child, front).then(measure), ended]);
  } finally {
    child.stdin.end();
    await ended.catch(() => undefined);
    clearTimeout(timer);
  }
}

async function inNewFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-shape-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The source files and stack frames of one warm call of the aggregate front: `{files, frames}`. */
export function measureCall() {
  return inNewFolder((folder) =>
    withMcpx({ folder, front: 'aggregate' }, async ({ tell, call }) => {
      await call(WARM_UP);
      await delay(WRITTEN);
      await tell('begin');
      await call(1);
      return tell('end');
    }),
  );
}

/** Functions of mcpx that a warm call of a front runs, and bytes that it allocates: `{functions, bytes}`. */
export function measureCallCost(front) {
  return inNewFolder((folder) =>
    withMcpx({ folder, front }, async ({ tell, call }) => {
      await call(WARM_UP);
      await tell('sample');
      await call(COUNTED);
      const { bytes } = await tell('sampled');
      await tell('begin');
      await call(COUNTED);
      const { functions } = await tell('end');
      return { functions: functions / COUNTED, bytes: bytes / COUNTED };
    }),
  );
}

/** Bytes that mcpx writes to files from its start to its first list of tools, with a new home and again: `{first, second}`. */
export function measureStartWrites(servers) {
  const start = (folder) =>
    withMcpx({ folder, front: 'aggregate', servers }, async ({ tell, listed, call }) => {
      await listed(servers);
      await call(1);
      await delay(WRITTEN);
      return (await tell('written')).bytes;
    });
  return inNewFolder(async (folder) => ({ first: await start(folder), second: await start(folder) }));
}
