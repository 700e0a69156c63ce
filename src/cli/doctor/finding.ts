/** Findings of `mcpx doctor`: a sentence, a reason and a command that helps; and the facts of each area. */
import { isSea } from 'node:sea';
import { environmentOf, lookup } from '../../config/environment.ts';
import type { Flags } from '../command.ts';
import { shellWord } from '../shell-word.ts';
import { findInPath, isSameFile } from './program-search.ts';

export type Area = 'install' | 'config' | 'programs' | 'servers' | 'clients' | 'home' | 'ports';

export interface Finding {
  area: Area;
  /** A word for programs that read the JSON. */
  code: string;
  /** An `error` breaks something; a `warning` is worth a look. */
  level: 'error' | 'warning';
  server?: string;
  client?: string;
  message: string;
  reason: string;
  /** A command line; a part in angle brackets has to be replaced. */
  command: string;
}

export interface Examined {
  /** Lines that describe the area. */
  facts: string[];
  findings: Finding[];
}

/** Returns a command line of mcpx that uses the same config files. */
export function ownCommand(flags: Flags, ...words: string[]): string {
  const files = flags.values('config').flatMap((file) => ['--config', file]);
  const rest = [...words, ...files].map((word) => (/^<.*>$/.test(word) ? `'${word}'` : shellWord(word)));
  return [ownName(), ...rest].join(' ');
}

/** Returns the word with which a shell starts this executable: its name if PATH leads to it, else its full path. */
export function ownName(): string {
  if (!isSea()) return 'mcpx';
  const world = environmentOf();
  const found = findInPath('mcpx', lookup('PATH', world) ?? '', world);
  return found !== undefined && isSameFile(found, process.execPath) ? 'mcpx' : shellWord(process.execPath);
}

/** Returns the command that opens a file in the user's editor, at a line if the editor of the system knows that. */
export function editorCommand(file: string, line: number | undefined, platform: NodeJS.Platform): string {
  if (platform === 'win32') return `notepad ${shellWord(file)}`;
  return `\${EDITOR:-vi} ${line === undefined ? '' : `+${line} `}${shellWord(file)}`;
}
