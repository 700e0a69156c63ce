/** Splits the line before the cursor as a shell does, and quotes completed words for the shell. */

/** The first word of the request of a completion script. No list of commands shows it. */
export const COMPLETE_COMMAND = '__complete';

export type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

export const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish', 'powershell'];

export interface TypedWord {
  /** The word as typed, with quotes and escapes. */
  raw: string;
  /** The value that the program would get. */
  value: string;
  /** The quote that is still open at the end of the word. */
  quote: '' | '"' | "'";
}

/** The character that escapes the next one outside of quotes, and inside of double quotes. */
const ESCAPES: Record<Shell, string> = { bash: '\\', zsh: '\\', fish: '\\', powershell: '`' };

/** Splits a line into words. The last word is the one at the cursor; it is empty after white space. */
export function splitLine(line: string, shell: Shell): TypedWord[] {
  const words: TypedWord[] = [];
  let rest = line;
  for (;;) {
    rest = rest.trimStart();
    const word = readWord(rest, shell);
    words.push(word);
    rest = rest.slice(word.raw.length);
    if (rest === '') return words;
  }
}

/** Reads the first word of a text that does not begin with white space. */
export function readWord(text: string, shell: Shell): TypedWord {
  const escapeSign = ESCAPES[shell];
  let quote: TypedWord['quote'] = '';
  let value = '';
  let at = 0;
  for (; at < text.length; at++) {
    const letter = text.charAt(at);
    const next = text.charAt(at + 1);
    if (quote === '' && /\s/.test(letter)) break;
    // PowerShell writes a quote inside of quotes twice.
    if (shell === 'powershell' && quote !== '' && letter === quote && next === quote) {
      value += letter;
      at++;
    } else if (letter === quote) quote = '';
    else if (quote === '' && (letter === '"' || letter === "'")) quote = letter;
    else if (letter === escapeSign && isEscape(next, quote, shell)) {
      value += next;
      at++;
    } else value += letter;
  }
  return { raw: text.slice(0, at), value, quote };
}

function isEscape(next: string, quote: TypedWord['quote'], shell: Shell): boolean {
  if (quote === '') return true;
  if (quote === "'") return shell === 'fish' && (next === '\\' || next === "'");
  return shell === 'powershell' || '\\"$`'.includes(next);
}

/** Characters that no shell treats specially within a word. */
const PLAIN = /^[\w./:=@%+,-]*$/;

/** Quotes a completed part of a word for bash, after the quote that is open at that place. */
export function quoteForBash(text: string, quote: TypedWord['quote']): string {
  if (quote === "'") return text.replaceAll("'", "'\\''");
  if (quote === '"') return text.replace(/[\\"$`]/g, '\\$&');
  return PLAIN.test(text) ? text : text.replace(/[^\w./:=@%+,\-\u0080-\uFFFF]/g, '\\$&');
}

/** Quotes a completed word for PowerShell, which takes `@` and `,` for operators. */
export function quoteForPowerShell(text: string): string {
  return /^[\w./:=%+-][\w./:=%+@-]*$/.test(text) ? text : `'${text.replaceAll("'", "''")}'`;
}
