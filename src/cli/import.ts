/** `mcpx import`: copies the servers of a client, of all clients or of a file into the config of mcpx. The clients stay as they are. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatOf, readClientFile } from '../client-config/client-file.ts';
import { installedClients } from '../client-config/client-places.ts';
import { clientNamed } from '../client-config/client-table.ts';
import { loadEditor } from '../client-config/edit-text.ts';
import { type FoundServer, serversOfFile } from '../client-config/found-servers.ts';
import type { ClientState } from '../client-config/setup-plan.ts';
import type { Format } from '../client-config/text-editor.ts';
import { environmentOf } from '../config/environment.ts';
import { McpxError } from '../errors.ts';
import { agree } from './change-preview.ts';
import {
  clientOf,
  importPlan,
  importPreview,
  noteImport,
  type PlannedImport,
  readClients,
  writeImport,
} from './client-import.ts';
import type { Invocation } from './command.ts';
import { note, print, printJson } from './output.ts';
import { status } from './status-lines.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  const { found, states } = await findServers(args[0]);
  const planned = importPlan(found, flags, flags.has('move-secrets'));
  noteImport(planned, states);
  if (flags.has('json')) await printJson(summary(planned));
  if (planned.plan.additions.length === 0) {
    if (!flags.has('json')) note(nothingNew(planned, found));
    return 0;
  }
  if (flags.has('print')) {
    if (!flags.has('json')) await print((await importPreview(planned, true)).join('\n\n'));
    return 0;
  }
  note((await importPreview(planned, false)).join('\n\n'));
  if (!(await agree('Make these changes?', invocation))) {
    note('nothing was changed');
    return 1;
  }
  await writeImport(planned);
  if (states.length > 0)
    note(
      'the clients still start these servers themselves; mcpx setup --all --replace connects mcpx and takes them out',
    );
  return 0;
}

interface Found {
  found: FoundServer[];
  states: ClientState[];
}

async function findServers(source: string | undefined): Promise<Found> {
  if (source === '-') return { found: await fromText(readFileSync(0, 'utf8'), 'stdin', undefined), states: [] };
  if (source !== undefined && isConfigText(source)) throw textGiven();
  const client = source === undefined ? undefined : clientNamed(source);
  if (source !== undefined && client === undefined && isPath(source)) {
    const file = resolve(source);
    const { bytes, text } = readClientFile(file);
    if (bytes === undefined)
      throw new McpxError('config', `"${file}" does not exist`, { hint: 'name a file or a client' });
    return { found: await fromText(text, file, formatOf(file)), states: [] };
  }
  const clients = source === undefined ? installedClients(environmentOf()) : [clientOf(source)];
  const states = await readClients(clients);
  return { found: states.flatMap(({ servers }) => servers), states };
}

/** True for the text of a config in place of the name of its file. */
function isConfigText(source: string): boolean {
  return (/^\s*["{[]/.test(source) || source.includes('\n')) && !existsSync(source);
}

/** The text is not repeated, because it may have secrets. */
function textGiven(): McpxError {
  return new McpxError('usage', 'this is the text of a config, not a client and not a file', {
    hint: 'mcpx import - reads it from stdin',
  });
}

function isPath(source: string): boolean {
  return /[./\\]/.test(source);
}

/** Reads servers from a text; without a known format it is tried as JSON, then as TOML, then as YAML. */
async function fromText(text: string, file: string, format: Format | undefined): Promise<FoundServer[]> {
  const formats: Format[] = format === undefined ? ['json', 'toml', 'yaml'] : [format];
  const failures: unknown[] = [];
  for (const one of formats) {
    try {
      const data = (await loadEditor(one)).parse(text, file);
      const { servers, skipped } = serversOfFile(data, file);
      for (const { name, reason } of skipped) status.warn(`"${name}" is left out: ${reason}`);
      return servers;
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

function nothingNew({ plan, config }: PlannedImport, found: readonly FoundServer[]): string {
  if (found.length === 0) return 'the clients have no servers that could be imported; mcpx setup lists the clients';
  const names = [...new Set(plan.known.map(({ name }) => name))];
  return `${config.file} has all of them already: ${names.join(', ')}`;
}

function summary({ config, plan }: PlannedImport): unknown {
  return {
    file: config.file,
    imported: plan.additions.map(({ name, found }) => ({
      name,
      from: found.map(({ place, client }) => ({ client, file: place.file })),
    })),
    known: [...new Set(plan.known.map(({ name }) => name))],
    notes: [...new Set(plan.notes)],
    secrets: plan.secrets.map(({ variable }) => variable),
  };
}
