/** Measures one warm call of the aggregate front, stdio to stdio, from source: the files that it touches and its deepest stack. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { at, BuildError, hostTarget } from '../project.mjs';
import { pinnedNode } from '../release/node.mjs';

/** Calls before the one that is measured, so that everything that happens once has happened. */
const WARM_UP = 50;
const PATIENCE = 60_000;

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

async function converse(child) {
  const { notify, request } = createClient(child);
  const tell = async (command) => {
    child.send(command);
    return (await once(child, 'message'))[0];
  };
  const clientInfo = { name: 'shape', version: '1' };
  await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  notify('notifications/initialized');
  const call = async () => {
    const { result, error } = await request('tools/call', { name: 'load__lines', arguments: { size: 100 } });
    if (error !== undefined || result.isError)
      throw new BuildError(`the call failed: ${JSON.stringify(error ?? result)}`);
  };
  for (let count = 0; count < WARM_UP; count++) await call();
  await tell('begin');
  await call();
  return tell('end');
}

/** `{files, frames}` of one call. */
export async function measureCall() {
  const { file: node } = await pinnedNode(hostTarget());
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-shape-'));
  const config = join(folder, 'mcpx.json');
  const server = { command: process.execPath, args: [at('scripts', 'bench', 'load-upstream.mjs')] };
  writeFileSync(config, JSON.stringify({ mcpServers: { load: server } }));
  const probe = pathToFileURL(at('scripts', 'shape', 'call-probe.mjs')).href;
  const args = ['--no-warnings', '--import', probe, at('src', 'main.ts'), 'serve', config, '--front', 'aggregate'];
  const child = spawn(node, args, {
    env: { HOME: folder, MCPX_HOME: folder, PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
  const ended = once(child, 'close').then(([code, signal]) => {
    throw new BuildError(`mcpx ended with ${signal ?? code} before the call was measured`);
  });
  try {
    return await Promise.race([converse(child), ended]);
  } finally {
    child.stdin.end();
    await ended.catch(() => undefined);
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}
