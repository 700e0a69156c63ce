/** The entry for mcpx in a client's file, in the form of that client. */
import { isRecord, type JsonRecord, own } from '../config/json-data.ts';
import type { EntryForm } from './client-row.ts';

/** The command that starts mcpx. It is absolute, because applications do not have the PATH of a shell. */
export interface Start {
  command: string;
  args: string[];
  /** Variables that mcpx needs to find its files. */
  env: Record<string, string>;
}

/** Returns the entry for mcpx in the form of a client. */
export function entryOf(form: EntryForm, { command, args, env }: Start): JsonRecord {
  const variables = Object.keys(env).length === 0 ? {} : { env };
  switch (form) {
    case 'typed':
      return { type: 'stdio', command, args, ...variables };
    case 'always-loaded':
      return { type: 'stdio', command, args, ...variables, alwaysLoad: true };
    case 'local-list':
      return { type: 'local', command: [command, ...args], enabled: true, ...(variables.env && { environment: env }) };
    case 'local-tools':
      return { type: 'local', command, args, ...variables, tools: ['*'] };
    case 'transport':
      return { transport: 'stdio', command, args, ...variables };
    case 'goose':
      return { name: 'mcpx', type: 'stdio', cmd: command, args, envs: env, enabled: true, timeout: 300 };
    case 'zed':
      return { command, args, env };
    default:
      return { command, args, ...variables };
  }
}

const URLS = ['url', 'serverUrl', 'httpUrl', 'uri', 'baseUrl'];
const VARIABLES = ['env', 'environment', 'envs'];

/**
 * Returns an existing entry with the current program, switched on. Everything that the user added stays, such as a
 * profile in the arguments; an entry for mcpx over HTTP is returned as it is.
 */
export function updatedEntry(present: JsonRecord, wanted: JsonRecord): JsonRecord {
  if (URLS.some((key) => own(present, key) !== undefined)) return present;
  const { disabled: _disabled, ...kept } = present;
  const merged: JsonRecord = { ...wanted, ...kept, ...('enabled' in present && { enabled: true }) };
  const args =
    argumentsOf(wanted).length === 1 && argumentsOf(present).includes('serve')
      ? argumentsOf(present)
      : argumentsOf(wanted);
  if (Array.isArray(wanted.command)) merged.command = [wanted.command[0], ...args];
  else Object.assign(merged, 'cmd' in wanted ? { cmd: wanted.cmd } : { command: wanted.command }, { args });
  for (const key of VARIABLES) {
    const [old, fresh] = [own(present, key), own(wanted, key)];
    if (isRecord(old) && isRecord(fresh)) merged[key] = { ...old, ...fresh };
  }
  if ('alwaysLoad' in wanted) merged.alwaysLoad = true;
  return merged;
}

function argumentsOf({ command, args }: JsonRecord): unknown[] {
  if (Array.isArray(command)) return command.slice(1);
  return Array.isArray(args) ? args : [];
}
