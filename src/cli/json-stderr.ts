/** Turns every line on stderr into a line of the JSON log: notices, hints, Node's warnings, output of dependencies. */
import { stripVTControlCharacters } from 'node:util';
import { jsonLine } from '../observe/log.ts';
import { language } from './language/language.ts';

/** The log level of a line, by its first word. */
const LEVELS: Readonly<Record<string, 'error' | 'warn'>> = { error: 'error', warning: 'warn' };

/** Replaces `write` of stderr. Lines that are JSON already pass unchanged. */
export function writeStderrAsJson(stderr: Pick<NodeJS.WriteStream, 'write'> = process.stderr): void {
  language.useEnglish();
  const write = stderr.write.bind(stderr);
  let rest = '';
  stderr.write = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
    const lines = (rest + Buffer.from(chunk as string).toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    const done = more.find((one) => typeof one === 'function') as (() => void) | undefined;
    return write(lines.map(asJson).join(''), done);
  };
}

function asJson(line: string): string {
  const text = stripVTControlCharacters(line).trim();
  if (text === '') return '';
  if (isJson(text)) return `${line}\n`;
  const [, word = ''] = /^(error|warning|hint|mcpx): /.exec(text) ?? [];
  const message = word === '' || word === 'hint' ? text : text.slice(word.length + 2);
  return jsonLine({ at: Date.now(), level: LEVELS[word] ?? 'info', message, fields: undefined });
}

function isJson(text: string): boolean {
  if (!text.startsWith('{')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
