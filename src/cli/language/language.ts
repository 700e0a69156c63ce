/** The language of texts for people: English as in the source, or Chinese from a table. JSON, logs, keys, options and codes stay English. */
import { type Environment, lookup } from '../../config/environment.ts';

type LanguageName = 'en' | 'zh';

/** The parts of the environment that name a language. `system` is the locale of the system, for Windows, which has no variables for it. */
interface Locale extends Pick<Environment, 'env' | 'platform'> {
  system?: string | undefined;
}

/** Returns the language of MCPX_LANG, else of the locale. A locale whose letters are not UTF-8 cannot show Chinese from here. */
export function languageOf(world: Locale): LanguageName {
  const chosen = lookup('MCPX_LANG', world);
  if (chosen) return isChinese(chosen) ? 'zh' : 'en';
  const locale = ['LC_ALL', 'LC_MESSAGES', 'LANG'].map((name) => lookup(name, world)).find(Boolean);
  if (locale === undefined) return world.platform === 'win32' && isChinese(world.system ?? '') ? 'zh' : 'en';
  const [, charset] = /\.([\w-]+)/.exec(locale) ?? [];
  return isChinese(locale) && (charset === undefined || /^utf-?8$/i.test(charset)) ? 'zh' : 'en';
}

function isChinese(locale: string): boolean {
  return /^(?:zh|chinese)(?![a-z])/i.test(locale);
}

interface Language {
  /** Reads the table of the language of this user. English needs none. */
  load(world: Environment): Promise<void>;
  /** Returns to English, for output that a program reads. */
  useEnglish(): void;
  /** Writes a text for readers elsewhere: in English. */
  inEnglish(write: () => string): string;
  /** Returns the text in the language of the user, line by line; unknown lines stay as they are. */
  text(english: string): string;
}

function createLanguage(): Language {
  let translate: ((line: string) => string) | undefined;
  return {
    async load(world) {
      translate = undefined;
      if (languageOf({ ...world, system: globalThis.navigator?.language }) === 'en') return;
      const [help, messages] = await Promise.all([
        import('./zh-help.json', { with: { type: 'json' } }),
        import('./zh-messages.json', { with: { type: 'json' } }),
      ]);
      translate = createTranslator({ ...help.default, ...messages.default });
    },
    useEnglish() {
      translate = undefined;
    },
    inEnglish(write) {
      const own = translate;
      translate = undefined;
      try {
        return write();
      } finally {
        translate = own;
      }
    },
    text(english) {
      return translate === undefined ? english : english.split('\n').map(translate).join('\n');
    },
  };
}

export const language = createLanguage();

/** Returns a text for people in their language. */
export function inLanguage(english: string): string {
  return language.text(english);
}

/** Maximum number of templates within each other: a hint within an error, a word within the hint. */
const MAX_DEPTH = 3;

/**
 * Returns a function that finds the table's text for a line. A key may have values, `{0}`, or numbers, `{#0}`; a line is
 * compared with the keys of most letters first, and its values are translated too, because a message may hold another one.
 */
export function createTranslator(table: Readonly<Record<string, string>>): (line: string) => string {
  const exact = new Map(Object.entries(table));
  let templates: Template[] | undefined;
  const find = (text: string, depth: number): string | undefined => {
    const found = exact.get(text);
    if (found !== undefined || depth === MAX_DEPTH || !/[a-z]{2}/i.test(text)) return found;
    templates ??= templatesOf(exact);
    for (const { pattern, text: translated, names, startsOpen } of templates) {
      const match = pattern.exec(text);
      if (match === null) continue;
      const values = match.slice(1).map((value, index) => (names.has(index) ? value : valueText(value, depth + 1)));
      if (startsOpen && values[0] === match[1] && SENTENCE.test(values[0] ?? '')) continue;
      return translated.replace(/\{(\d+)\}/g, (_, index) => values[Number(index)] ?? '');
    }
    return undefined;
  };
  const valueText = (value: string, depth: number): string => {
    const list = () => joined(value, '; ', '；', depth) ?? joined(value, ', ', '，', depth);
    return exact.get(value) ?? list() ?? find(value, depth) ?? value;
  };
  /** Translates a list if all of its parts are known, so that names in it are not taken for words. */
  const joined = (value: string, separator: string, own: string, depth: number): string | undefined => {
    const parts = value.split(separator);
    const found = parts.map((part) => find(part, depth));
    return parts.length > 1 && found.every((part) => part !== undefined) ? found.join(own) : undefined;
  };
  return (line) => {
    const text = line.trim();
    const found = text === '' ? undefined : find(text, 0);
    return found === undefined ? line : line.replace(text, () => found);
  };
}

interface Template {
  pattern: RegExp;
  /** The values in quotes: names, which are the same in every language. */
  names: ReadonlySet<number>;
  text: string;
  /** True if the first value is at the beginning, so that any line that goes on with the same words fits. */
  startsOpen: boolean;
  /** Letters that are not values. */
  letters: number;
}

function templatesOf(table: ReadonlyMap<string, string>): Template[] {
  const templates = [...table].flatMap(([key, text]) => {
    if (!VALUE.test(key)) return [];
    const parts = key.split(/(\{#?\d+\})/);
    const pattern = parts.map((part, index) =>
      VALUE.test(part) ? valuePattern(part, parts[index + 1]) : part.replace(SPECIAL, '\\$&'),
    );
    const letters = parts.filter((part) => !VALUE.test(part)).join('').length;
    const names = new Set([...key.matchAll(/"\{#?(\d+)\}"/g)].map(([, index]) => Number(index)));
    return [{ pattern: new RegExp(`^${pattern.join('')}$`), names, text, startsOpen: /^\{\d/.test(key), letters }];
  });
  return templates.sort((a, b) => b.letters - a.letters);
}

const VALUE = /\{#?\d+\}/;
const SPECIAL = /[.*+?^${}()|[\]\\]/g;

/** At least four words: a sentence that the table does not have, and no name. */
const SENTENCE = /^\S+(?:\s+\S+){3}/;

/** A value in quotes ends at the next quote, so that it does not reach into the value after it. */
function valuePattern(value: string, after = ''): string {
  if (value.includes('#')) return '([\\d.,]+)';
  return after.startsWith('"') ? '([^"]*)' : '(.*?)';
}
