/**
 * npm run bench:clients: the tokens that each installed client sends to the model before the first question, with seven servers from npm,
 * connected directly and through mcpx. The clients are the shipped programs (node scripts/install-clients.mjs --all), the model is a script
 * on loopback. Linux and macOS.
 *   --only <name>   one client, such as "Codex"
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../ensure-built.mjs';
import { log } from '../log.mjs';
import { at, BuildError, hostTarget, isMain, runMain } from '../project.mjs';
import { nodeLock } from '../release/node.mjs';
import { npmServers } from './tokens.mjs';

const METHOD = `Counted with o200k (gpt-tokenizer): the request to the model once all servers have started, as JSON, minus that of the same client without a server.
Clients marked * show names only and have their own search for tools.`;

/** Writes a server as a program without arguments, because not every client takes arguments that begin with dashes. */
function writePrograms(folder, servers) {
  mkdirSync(folder, { recursive: true });
  return Object.entries(servers).map(([name, { command, args, env = {} }]) => {
    const file = join(folder, name);
    const words = [command, ...args].map((word) => `'${word}'`).join(' ');
    const exports = Object.entries(env).map(([key, value]) => `export ${key}='${value}'\n`);
    writeFileSync(file, `#!/bin/sh\n${exports.join('')}exec ${words}\n`, { mode: 0o755 });
    return { kind: 'stdio', name, command: file };
  });
}

async function measureClients(only) {
  const { encode } = await import('gpt-tokenizer/encoding/o200k_base');
  const { firstRequest, makeHome, runToEnd } = await import('../../tests/clients/conversation.ts');
  const programs = {
    ...(await import('../../tests/clients/programs.ts')),
    ...(await import('../../tests/clients/chat-programs.ts')),
  };
  const { CLIENTS } = await import('../../src/front/known-clients.ts');
  const [program] = await ensureBuilt();
  const clients = Object.values(programs).filter((one) => one?.ask !== undefined && one.command !== undefined);
  const tokens = async (client, waysIn) => {
    const place = makeHome();
    try {
      const servers = await npmServers(place.cwd);
      writeFileSync(join(place.home, '.mcpx', 'config.json'), JSON.stringify({ mcpServers: servers }));
      const ways = waysIn(writePrograms(join(place.home, 'servers'), servers));
      if (ways.some(({ kind }) => kind === 'documented')) await runToEnd([program, 'tools'], place);
      return encode(await firstRequest(client, place, ways)).length;
    } finally {
      place.remove();
    }
  };
  const rows = [];
  for (const client of clients.filter(({ title }) => only === undefined || title === only)) {
    log('measure', client.title);
    const alone = await tokens(client, () => []);
    const direct = (await tokens(client, (servers) => servers)) - alone;
    const through = (await tokens(client, () => [{ kind: 'documented' }])) - alone;
    const isDeferring = CLIENTS.find(({ title }) => title === client.title)?.defers !== undefined;
    rows.push([`${client.title}${isDeferring ? ' *' : ''}`, direct, through]);
  }
  return rows;
}

function tableOf(rows) {
  const number = (value) => (typeof value === 'number' ? value.toLocaleString('en-US') : value);
  return [['client', 'directly', 'through mcpx'], ['---', '--:', '--:'], ...rows]
    .map((row) => `| ${row.map(number).join(' | ')} |`)
    .join('\n');
}

async function main(args) {
  // The tests of clients are TypeScript, which this Node may not run.
  if (!process.features.typescript) {
    const node = at('.cache', 'node', nodeLock().version, hostTarget(), 'node');
    await ensureBuilt();
    return spawnSync(node, [import.meta.filename, ...args], { stdio: 'inherit' }).status ?? 1;
  }
  const { only } = parseArgs({ args, options: { only: { type: 'string' } } }).values;
  const rows = await measureClients(only);
  if (rows.length === 0) throw new BuildError('no client is installed: node scripts/install-clients.mjs --all');
  process.stdout.write(`${tableOf(rows)}\n\n${METHOD}\n`);
  return 0;
}

if (isMain(import.meta.url)) await runMain(main);
