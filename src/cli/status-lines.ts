/** Status lines and progress of shell commands, on stderr. `serve` does not load this file, because it costs start time. */
import { createConsola, type LogType } from 'consola/core';
import { inLanguage } from './language/language.ts';
import { labelled, note, paint, warn, wrapped } from './output.ts';

/** Writes a line: `info` plain, `warn` and `error` with their word, `start` (progress) dimmed on a terminal. */
export const status = createConsola({
  // With its throttle consola holds repeated lines back, and the process may exit before they are written.
  throttle: 0,
  reporters: [{ log: ({ type, args }) => write(type, args.join(' ')) }],
});

function write(type: LogType, text: string): void {
  if (type === 'warn') warn(text);
  else if (type === 'error') note(labelled('red', 'error:', inLanguage(text)));
  else note(type === 'start' ? paint('dim', inLanguage(text)) : wrapped(inLanguage(text), { stream: process.stderr }));
}
