/** `mcpx add`: writes a new server into the config, and tries it once. */
import { moveSecrets } from '../client-config/literal-secrets.ts';
import { withServers, writeOwnConfig, writeSecrets } from '../client-config/own-config.ts';
import { environmentOf } from '../config/environment.ts';
import { loadConfig } from '../config/load.ts';
import { secretsFile } from '../config/paths.ts';
import { describeServer } from '../config/show.ts';
import { EXIT_CODES, McpxError } from '../errors.ts';
import { entryOf } from './add-entry.ts';
import { type AddRequest, type FileRequest, readAddRequest } from './add-request.ts';
import { type AddTarget, addTarget, refuseTaken } from './add-target.ts';
import type { Flags, Invocation } from './command.ts';
import { sourceFlags } from './command-app.ts';
import { entryNamed, loadScope, noteReload } from './config-edit.ts';
import { note, printError, printJson, say } from './output.ts';
import { selfCommand } from './own-command.ts';
import type { PlannedServer } from './planned-server.ts';
import { shellWord } from './shell-word.ts';
import { status } from './status-lines.ts';
import { type Trial, tryServer } from './try-server.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, passed, flags } = invocation;
  const before = args.slice(0, args.length - (passed?.length ?? 0));
  const request = readAddRequest({ before, passed, type: flags.value('type') });
  const target = addTarget(flags);
  const planned = await plan(request, target, invocation);
  for (const text of planned.notes) note(text);
  const warnings = await write(planned, target);
  const { file } = target.config;
  note(`added server "${planned.name}" to ${file}`);
  noteReload();
  const trial = flags.has('check') ? await tryServer(planned.name, loadScope(flags), invocation) : undefined;
  return report(planned, { file, warnings, trial, flags });
}

async function plan(request: AddRequest, target: AddTarget, invocation: Invocation): Promise<PlannedServer> {
  const { flags } = invocation;
  if (isFileRequest(request)) {
    return (await import('./add-package.ts')).planPackage(request, target, invocation);
  }
  const { name } = request;
  refuseTaken(name, target, flags);
  const { entry, notes } = entryOf(request, flags, environmentOf().cwd);
  const moved = moveSecrets(name, entry);
  if (moved.secrets.length > 0 && !flags.has('move-secrets')) {
    notes.push(
      `the secrets of the entry are written as they are; --move-secrets puts them into ${secretsFile(environmentOf())}`,
    );
  }
  return flags.has('move-secrets')
    ? { name, entry: moved.entry, secrets: moved.secrets, notes, facts: {} }
    : { name, entry, secrets: [], notes, facts: {} };
}

function isFileRequest(request: AddRequest): request is FileRequest {
  return request.kind === 'registry' || request.kind === 'bundle';
}

/** Writes the secrets first, because the config refers to them. Returns the warnings about the new entry. */
async function write({ name, entry, secrets, discard }: PlannedServer, target: AddTarget): Promise<string[]> {
  const world = environmentOf();
  try {
    const { after, warnings } = withServers(target.prepared, [{ name, entry }], world);
    refuseLoop(name, target.config.file, after);
    await writeSecrets(secrets, world);
    await writeOwnConfig(target.config, after, world);
    for (const text of warnings) status.warn(text);
    return warnings;
  } catch (error) {
    discard?.();
    throw error;
  }
}

/** Throws `usage` if mcpx would skip the new entry, because it starts mcpx itself. */
function refuseLoop(name: string, file: string, text: string): void {
  const { command, args } = selfCommand();
  const self = { execPath: command, ...(args[0] !== undefined && { script: args[0] }) };
  const { config } = loadConfig({ files: [file], texts: new Map([[file, text]]), self });
  const isSkipped = config.warnings.some(({ message }) => message.startsWith(`server "${name}" is skipped`));
  if (!isSkipped) return;
  throw new McpxError('usage', `server "${name}" would start mcpx itself, in an endless loop`, {
    hint: 'to use the servers of another config, import them: mcpx import <file>',
  });
}

interface Outcome {
  file: string;
  warnings: string[];
  trial: Trial | undefined;
  flags: Flags;
}

/** Prints the result of the trial. The exit code is that of a failed trial, and the entry stays. */
async function report(
  { name, facts, secrets }: PlannedServer,
  { file, warnings, trial, flags }: Outcome,
): Promise<number> {
  const code = trial === undefined || trial.ok ? 0 : EXIT_CODES[trial.code];
  if (flags.has('json')) {
    const entry = describeServer(entryNamed(name, loadScope(flags)));
    const variables = secrets.map(({ variable }) => variable);
    await printJson({ name, file, entry, ...facts, secrets: variables, warnings, ...(trial && { check: trial }) });
    return code;
  }
  if (trial === undefined) {
    if (flags.has('check')) note(`server "${name}" was not tried, because it is disabled or in no enabled profile`);
    return code;
  }
  if (trial.ok) {
    await say(`${name}: ${trial.tools === 1 ? '1 tool' : `${trial.tools} tools`}, ${trial.ms} ms`);
    return code;
  }
  printError(new McpxError(trial.code, trial.error, { hint: trial.hint }));
  note(`\nserver "${name}" stays in the config; mcpx remove ${sourceFlags(flags)}${shellWord(name)} takes it out`);
  return code;
}
