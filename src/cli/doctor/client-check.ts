/** Reads the files of the installed clients: whether mcpx is connected, and which servers they still start themselves. */
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { installedClients } from '../../client-config/client-places.ts';
import { type ClientId, rowOf } from '../../client-config/client-table.ts';
import { planImport } from '../../client-config/import-plan.ts';
import type { ClientState } from '../../client-config/setup-plan.ts';
import type { Config } from '../../config/config.ts';
import type { Environment } from '../../config/environment.ts';
import { isRecord, type JsonRecord } from '../../config/json-data.ts';
import { codeOf } from '../../files.ts';
import { readClientFiles, type UnreadFile } from '../client-import.ts';
import type { Flags } from '../command.ts';
import { shellWord } from '../shell-word.ts';
import { type Examined, editorCommand, type Finding, ownCommand } from './finding.ts';

export async function checkClients(config: Config | undefined, flags: Flags, world: Environment): Promise<Examined> {
  const clients = installedClients(world);
  if (clients.length === 0) return { facts: ['no client was found'], findings: [] };
  const { states, unread } = await readClientFiles(clients);
  const present = [...new Set(config?.profiles.flatMap(({ servers }) => servers) ?? [])];
  const found = states.flatMap(({ servers }) => servers);
  const known = new Set(planImport(found, { present, world, movesSecrets: false }).known.map((one) => one.found));
  const examined = clients.map((client) => {
    const own = states.filter(({ place }) => place.client === client);
    const twice = own.flatMap(({ servers }) => servers.filter((server) => known.has(server)).map(({ name }) => name));
    const closed = unread.filter(({ place }) => place.client === client);
    const findings = findingsOf(client, own, { twice: [...new Set(twice)], flags });
    return { fact: describe(client, own), findings: [...closed.map((one) => unreadFinding(one, world)), ...findings] };
  });
  return { facts: examined.map(({ fact }) => fact), findings: examined.flatMap(({ findings }) => findings) };
}

function describe(client: ClientId, states: readonly ClientState[]): string {
  const isConnected = states.some(({ own }) => own.length > 0);
  const others = new Set(states.flatMap(({ servers }) => servers.map(({ name }) => name))).size;
  const left = others === 0 ? '' : `, ${others} other ${others === 1 ? 'server' : 'servers'}`;
  return `${rowOf(client).title}: ${isConnected ? 'connected' : 'not connected'}${left}`;
}

function findingsOf(
  client: ClientId,
  states: readonly ClientState[],
  { twice, flags }: { twice: string[]; flags: Flags },
): Finding[] {
  const { title } = rowOf(client);
  const own = { area: 'clients', client } as const;
  const entries = states.flatMap((state) => state.own);
  const findings: Finding[] = [];
  if (states.length > 0 && entries.length === 0)
    findings.push({
      ...own,
      ...{ code: 'not-connected', level: 'warning' },
      message: `${title} does not use mcpx`,
      reason: 'its config has no entry that starts mcpx',
      command: ownCommand(flags, 'setup', client),
    });
  for (const program of new Set(entries.flatMap(({ value }) => missingProgram(value))))
    findings.push({
      ...own,
      ...{ code: 'moved', level: 'error' },
      message: `${title} cannot start mcpx`,
      reason: `its entry names "${program}", which does not exist any more`,
      command: ownCommand(flags, 'setup', client),
    });
  if (twice.length > 0)
    findings.push({
      ...own,
      ...{ code: 'still-enabled', level: 'warning' },
      message: `${title} still starts itself what mcpx has: ${twice.join(', ')}`,
      reason: 'the model reads the tools of these servers twice, and mcpx saves nothing for them',
      command: ownCommand(flags, 'setup', client, '--replace'),
    });
  return findings;
}

function unreadFinding({ place, error }: UnreadFile, { platform }: Environment): Finding {
  const { file, client } = place;
  const line = isRecord(error.data) && typeof error.data.line === 'number' ? error.data.line : undefined;
  return {
    ...{ area: 'clients', client, code: 'file-unreadable', level: 'error' },
    message: `a config file of ${rowOf(client).title} cannot be used`,
    reason: error.message.split('\n')[0] ?? '',
    command: accessCommand(file, codeOf(error.cause), platform) ?? editorCommand(file, line, platform),
  };
}

/** Returns the command that makes a file readable; undefined if its rights are not the cause. */
function accessCommand(file: string, code: string | undefined, platform: NodeJS.Platform): string | undefined {
  if (code !== 'EACCES' && code !== 'EPERM') return code === 'EISDIR' ? `ls -la ${shellWord(file)}` : undefined;
  return platform === 'win32' ? `icacls "${file}" /grant "%USERNAME%":R` : `chmod u+rw ${shellWord(file)}`;
}

/** Returns the absolute path of the program in an entry for mcpx, if there is no such file. */
function missingProgram({ command, cmd }: JsonRecord): string[] {
  const program = Array.isArray(command) ? command[0] : (command ?? cmd);
  return typeof program === 'string' && isAbsolute(program) && !existsSync(program) ? [program] : [];
}
