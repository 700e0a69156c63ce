/** Loads the config for `mcpx doctor`: its mistakes and warnings become findings. */
import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import type { Environment } from '../../config/environment.ts';
import { isRecord, type JsonRecord } from '../../config/json-data.ts';
import { configFiles } from '../../config/paths.ts';
import { McpxError } from '../../errors.ts';
import type { Flags } from '../command.ts';
import { readConfig } from '../command-app.ts';
import { shellWord } from '../shell-word.ts';
import { type Examined, editorCommand, type Finding, ownCommand } from './finding.ts';

export interface CheckedConfig extends Examined {
  /** Undefined if it cannot be used. */
  config: Config | undefined;
}

/** `only` leaves out the warnings about other servers. */
export function checkConfig(flags: Flags, only: string | undefined, world: Environment): CheckedConfig {
  const { files, fallback = '' } = configFiles(flags.values('config'), world);
  try {
    const config = readConfig(flags, { quiet: true });
    const told = warnings(config, flags, world);
    const findings = only === undefined ? told : told.filter(({ message }) => message.includes(`server "${only}"`));
    return { config, facts: [describe(config, fallback)], findings };
  } catch (error) {
    if (!(error instanceof McpxError) || error.code !== 'config') throw error;
    return {
      config: undefined,
      facts: [`${files.join(', ')}: cannot be used`],
      findings: mistakes(error, files, world),
    };
  }
}

function describe({ files, profiles }: Config, fallback: string): string {
  if (files.length === 0) return `there is no config file yet; it would be ${fallback}`;
  const count = new Set(profiles.flatMap(({ servers }) => servers)).size;
  return `${files.join(', ')}: ${count} ${count === 1 ? 'server' : 'servers'}`;
}

function warnings({ warnings: found, profiles }: Config, flags: Flags, { platform }: Environment): Finding[] {
  const own = { area: 'config', level: 'warning' } as const;
  const told = found.map(
    ({ message, place, line, hint }): Finding => ({
      ...own,
      code: 'config-warning',
      message,
      reason: hint ?? 'the config can be used, but this part may not do what was intended',
      command:
        place === undefined ? ownCommand(flags, 'config', 'validate') : editorCommand(place.file, line, platform),
    }),
  );
  if (profiles.some(({ servers }) => servers.length > 0)) return told;
  const reason = 'there is nothing to call; init imports the servers of your clients';
  return [
    ...told,
    { ...own, code: 'no-servers', message: 'no server is configured', reason, command: ownCommand(flags, 'init') },
  ];
}

/** One finding per mistake, with the command that opens the file at its line. */
function mistakes(error: McpxError, files: readonly string[], { platform }: Environment): Finding[] {
  const told = Array.isArray(error.data) ? error.data.filter(isRecord) : [];
  // A text that is not JSON has one mistake, and its place is the data of the error.
  const alone = { message: error.message.split('\n')[0], hint: error.hint, ...(isRecord(error.data) && error.data) };
  const list: JsonRecord[] = told.length === 0 ? [alone] : told;
  return list.map(({ message, file, line, hint }): Finding => {
    const path = typeof file === 'string' ? file : (files.at(-1) ?? '');
    const at = typeof line === 'number' ? line : undefined;
    const where = at === undefined ? path : `${path}:${at}`;
    const isMissing = !existsSync(path);
    return {
      area: 'config',
      code: isMissing ? 'config-missing' : 'config-mistake',
      level: 'error',
      message: String(message),
      reason: `mcpx does not start with this mistake in ${where}${typeof hint === 'string' ? `; ${hint}` : ''}`,
      command: isMissing ? `echo '{"mcpServers": {}}' > ${shellWord(path)}` : editorCommand(path, at, platform),
    };
  });
}
