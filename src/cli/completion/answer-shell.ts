/** `mcpx __complete <shell> …`: answers a completion script with the words that may stand at the cursor. */
import { cutToWidth } from '../../render/columns.ts';
import { clean, oneLine } from '../../render/text.ts';
import { inLanguage } from '../language/language.ts';
import { print } from '../output.ts';
import { type Candidate, candidatesFor } from './candidates.ts';
import { createValues } from './known-values.ts';
import {
  quoteForBash,
  quoteForPowerShell,
  readWord,
  SHELLS,
  type Shell,
  splitLine,
  type TypedWord,
} from './shell-words.ts';

/** Columns of an explanation. */
const MAX_DOC = 80;

export async function run([shell, ...sent]: string[]): Promise<number> {
  const known = SHELLS.find((one) => one === shell);
  if (known === undefined) return 2;
  const lines = ANSWERS[known](sent);
  if (lines.length > 0) await print(lines.join('\n'));
  return 0;
}

const ANSWERS = {
  /** Gets the line up to the cursor, and the part of it that readline replaces. */
  bash([line = '', replaced = '']) {
    const words = wordsOf(line, 'bash');
    const { raw, quote } = words.at(-1) ?? { raw: '', quote: '' };
    const kept = readWord(raw.slice(0, keptLength(raw, replaced)), 'bash');
    return candidates(words.map(({ value }) => value)).flatMap(({ value, isOpen }) => {
      if (!value.startsWith(kept.value)) return [];
      const word = quoteForBash(value.slice(kept.value.length), quote);
      return [quote === '' && isOpen !== true ? `${word} ` : word];
    });
  },
  zsh: (words) =>
    candidates(words).map(
      ({ value, doc, isOpen }) => `${isOpen === true ? 'open' : 'done'}\t${value}\t${docText(doc)}`,
    ),
  /** The last word is as typed, the others are not quoted any more. */
  fish: (words) =>
    candidates([...words.slice(0, -1), readWord(words.at(-1) ?? '', 'fish').value]).map(
      ({ value, doc }) => `${value}\t${docText(doc)}`,
    ),
  powershell([line = '']) {
    const words = wordsOf(Buffer.from(line, 'base64').toString(), 'powershell');
    return candidates(words.map(({ value }) => value)).map(({ value, doc }) =>
      [quoteForPowerShell(value), value, docText(doc)].join('\t'),
    );
  },
} satisfies Record<Shell, (sent: string[]) => string[]>;

/** Splits the line and takes the program away, with the variables before it: `LANG=C mcpx tools`. */
function wordsOf(line: string, shell: Shell): TypedWord[] {
  const words = splitLine(line, shell);
  return words.slice(words.findIndex(({ raw }) => !/^\w+=/.test(raw)) + 1);
}

/** Returns the length of the part of the word that readline keeps; in quotes it replaces all after the quote. */
function keptLength(raw: string, replaced: string): number {
  if (raw.endsWith(replaced)) return raw.length - replaced.length;
  return /["']/.exec(raw)?.index === undefined ? 0 : raw.search(/["']/) + 1;
}

function candidates(typed: readonly string[]): Candidate[] {
  return candidatesFor(typed.length === 0 ? [''] : typed, createValues());
}

function docText(doc: string | undefined): string {
  return cutToWidth(oneLine(clean(inLanguage(doc ?? ''))), MAX_DOC);
}
