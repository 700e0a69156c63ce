/** `mcpx init`: imports the servers of all clients, connects mcpx to the clients and takes the imported servers out of them. */
import { installedClients } from '../client-config/client-places.ts';
import { type ClientId, rowOf } from '../client-config/client-table.ts';
import { withServers } from '../client-config/own-config.ts';
import type { ClientState } from '../client-config/setup-plan.ts';
import { BUILTINS } from '../config/config.ts';
import { environmentOf } from '../config/environment.ts';
import { secretsFile } from '../config/paths.ts';
import { agree } from './change-preview.ts';
import {
  importPlan,
  importPreview,
  noteImport,
  type PlannedImport,
  readClients,
  writeImport,
} from './client-import.ts';
import { editsOf, planSetups, setupPreview, startOf, writeSetups } from './client-setup.ts';
import type { Invocation } from './command.ts';
import { inLanguage } from './language/language.ts';
import { note, print, say } from './output.ts';
import { askYesNo, isInteractive } from './question.ts';
import { savingText } from './tokens.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const clients = installedClients(environmentOf());
  const states = await readClients(clients);
  noteFound(clients, states);
  const ownServers = await planned(states, invocation);
  const isEmpty = ownServers.plan.additions.length + ownServers.config.servers.length === 0;
  const imported = isEmpty ? withDemo(ownServers) : ownServers;
  noteImport(imported, states);
  const { additions, known } = imported.plan;
  const covered = [...additions, ...known].flatMap(({ found }) => found);
  const edits = editsOf(await planSetups(states, startOf(flags), covered));
  const preview = async (isAnswer: boolean) =>
    [...(await importPreview(imported, isAnswer)), ...(await setupPreview(edits, isAnswer))].join('\n\n');
  if (flags.has('print')) {
    await print((await preview(true)) || inLanguage('nothing has to be changed'));
    return 0;
  }
  if (additions.length === 0 && edits.length === 0) {
    if (clients.length === 0) note('nothing has to be changed');
    else note('nothing has to be changed: every server is in mcpx, and mcpx is connected to every client');
    return finish(invocation, 0);
  }
  note(`\n${await preview(false)}\n`);
  if (!(await agree(isEmpty ? 'Begin with the demo servers?' : 'Make these changes?', invocation))) {
    note('nothing was changed');
    return 1;
  }
  // The clients lose their servers only when mcpx has them.
  await writeImport(imported);
  const code = edits.length === 0 ? 0 : await writeSetups(edits);
  if (edits.length > 0) note('mcpx setup --all --undo restores the files of the clients');
  return finish(invocation, code);
}

/** Lists the clients with their servers, before anything is planned. */
function noteFound(clients: readonly ClientId[], states: readonly ClientState[]): void {
  if (clients.length === 0) note('no client was found');
  for (const client of clients) {
    const own = states.filter(({ place }) => place.client === client);
    const names = [...new Set(own.flatMap(({ servers }) => servers.map(({ name }) => name)))];
    note(`found ${rowOf(client).title}: ${names.length === 0 ? 'no servers' : names.join(', ')}`);
  }
}

/** Plans the import. A user on a terminal is asked once whether literal secrets move. */
async function planned(states: readonly ClientState[], { flags, stop }: Invocation): Promise<PlannedImport> {
  const found = states.flatMap(({ servers }) => servers);
  const plain = importPlan(found, flags, flags.has('move-secrets'));
  const isOpen = plain.plan.literal.length > 0 && plain.plan.secrets.length === 0;
  if (!isOpen || flags.has('print') || flags.has('yes') || !isInteractive()) return plain;
  const question = `The entries of ${plain.plan.literal.join(', ')} hold secrets. Move them to ${secretsFile(environmentOf())}?`;
  const isYes = await askYesNo(question, { signal: stop, interrupted: 'interrupted: nothing was changed' });
  return isYes ? importPlan(found, flags, true) : plain;
}

/** Adds the built-in servers, so that somebody without any server sees mcpx work. */
function withDemo({ config, plan }: PlannedImport): PlannedImport {
  note('there are no servers to import yet, so mcpx begins with its built-in demo servers');
  const additions = BUILTINS.map((name) => ({ name, entry: { type: 'builtin' }, found: [] }));
  const { after } = withServers(config, additions, environmentOf());
  return { config, plan: { ...plan, additions }, after };
}

/** Shows what mcpx saves, and the next command. */
async function finish(invocation: Invocation, code: number): Promise<number> {
  await say(await savingText(invocation));
  note('next: mcpx tools lists the tools, mcpx list the servers');
  return code;
}
