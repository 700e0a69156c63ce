/** Built-in server `text`: counting, cases, plain search and replace, lines, comparison, encodings and hashes. */
import { createHash } from 'node:crypto';
import { estimateTokens } from '../../render/token-estimate.ts';
import { gives, READS, takes } from './define.ts';
import { MAX_TEXT, optionalText, readChoice, readFlag, readInteger, readText, rejectInput } from './input.ts';
import { compareLines } from './line-diff.ts';
import type { BuiltinTool, Toolbox } from './toolbox.ts';
import { CASES, decoded, ENCODINGS, encoded, inCase, SORTS, sortLines, splitLines } from './transform.ts';

const HASHES = ['sha256', 'sha512', 'sha1', 'md5'] as const;
/** The maximum length for counting, because word segmentation is much slower than copying text. */
const MAX_COUNTED = 200_000;
const MAX_SEARCH = 10_000;
const MAX_GROWN = 4_000_000;

const TEXT = { type: 'string', description: 'The text to work on', maxLength: MAX_TEXT };

const COUNT: BuiltinTool = {
  name: 'count',
  title: 'Count',
  description:
    'Count characters, words, lines, bytes and (approximately) tokens of a text. Words are found in every language, Chinese and Japanese included.',
  inputSchema: takes({ text: { ...TEXT, description: 'The text to count', maxLength: MAX_COUNTED } }, ['text']),
  outputSchema: gives({
    characters: { type: 'integer', description: 'Unicode code points' },
    words: { type: 'integer' },
    lines: { type: 'integer' },
    bytes: { type: 'integer', description: 'In UTF-8' },
    tokens: { type: 'integer', description: 'Estimate of language model tokens' },
  }),
  annotations: READS,
  run(args) {
    const text = readText(args, 'text', MAX_COUNTED);
    let words = 0;
    for (const segment of new Intl.Segmenter(undefined, { granularity: 'word' }).segment(text)) {
      if (segment.isWordLike) words += 1;
    }
    return {
      characters: [...text].length,
      words,
      lines: text === '' ? 0 : splitLines(text).length,
      bytes: Buffer.byteLength(text),
      tokens: estimateTokens(text),
    };
  },
};

const CONVERT_CASE: BuiltinTool = {
  name: 'convert_case',
  title: 'Convert case',
  description:
    'Change the case of a text: upper, lower, title, sentence, or a programming style (camel, pascal, snake, kebab, constant).',
  inputSchema: takes({ text: TEXT, style: { type: 'string', enum: CASES, description: 'The case to produce' } }, [
    'text',
    'style',
  ]),
  outputSchema: gives({ text: { type: 'string' } }),
  annotations: READS,
  run: (args) => ({ text: inCase(readText(args, 'text'), readChoice(args, 'style', CASES)) }),
};

const REPLACE: BuiltinTool = {
  name: 'replace',
  title: 'Search and replace',
  description:
    'Replace every occurrence of a piece of plain text (not a regular expression) and say how many there were. Without "replacement" it only counts.',
  inputSchema: takes(
    {
      text: TEXT,
      search: { type: 'string', description: 'Plain text to look for', minLength: 1, maxLength: MAX_SEARCH },
      replacement: { type: 'string', description: 'What to put in its place; may be empty' },
      ignore_case: { type: 'boolean', description: 'Find other cases too', default: false },
    },
    ['text', 'search'],
  ),
  outputSchema: gives({ text: { type: 'string' }, count: { type: 'integer', description: 'Occurrences found' } }),
  annotations: READS,
  run(args) {
    const text = readText(args, 'text');
    const search = readText(args, 'search', MAX_SEARCH);
    if (search === '') rejectInput('"search" must not be empty');
    // An escaped literal cannot backtrack, unlike a pattern that the caller writes.
    const found = new RegExp(
      search.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'),
      readFlag(args, 'ignore_case') ? 'giu' : 'gu',
    );
    const replacement = optionalText(args, 'replacement');
    const count = text.match(found)?.length ?? 0;
    if (replacement === undefined) return { text, count };
    if (text.length + count * replacement.length > MAX_GROWN)
      rejectInput(`the result would exceed ${MAX_GROWN} characters`);
    return { text: text.replace(found, () => replacement), count };
  },
};

const LINES: BuiltinTool = {
  name: 'lines',
  title: 'Work on lines',
  description:
    'Sort, deduplicate, trim, filter or cut the lines of a text. Steps run in this order: trim, containing, drop_empty, unique, sort, first.',
  inputSchema: takes(
    {
      text: TEXT,
      trim: { type: 'boolean', description: 'Remove white space around each line', default: false },
      containing: { type: 'string', description: 'Keep only lines that contain this plain text' },
      drop_empty: { type: 'boolean', description: 'Remove empty lines', default: false },
      unique: { type: 'boolean', description: 'Keep the first of equal lines', default: false },
      sort: { type: 'string', enum: SORTS, default: 'none', description: 'Order of the result' },
      first: { type: 'integer', minimum: 0, description: 'Keep only so many lines' },
    },
    ['text'],
  ),
  outputSchema: gives({ lines: { type: 'array', items: { type: 'string' } }, count: { type: 'integer' } }),
  annotations: READS,
  run(args) {
    let lines = splitLines(readText(args, 'text'));
    const containing = optionalText(args, 'containing');
    if (readFlag(args, 'trim')) lines = lines.map((line) => line.trim());
    if (containing !== undefined) lines = lines.filter((line) => line.includes(containing));
    if (readFlag(args, 'drop_empty')) lines = lines.filter((line) => line.trim() !== '');
    if (readFlag(args, 'unique')) lines = [...new Set(lines)];
    lines = sortLines(lines, readChoice(args, 'sort', SORTS, 'none'));
    lines = lines.slice(
      0,
      readInteger(args, 'first', { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: lines.length }),
    );
    return { lines, count: lines.length };
  },
};

const DIFF: BuiltinTool = {
  name: 'diff',
  title: 'Compare two texts',
  description: 'Compare two texts line by line. Returns a unified diff and the number of lines added and removed.',
  inputSchema: takes(
    {
      before: { ...TEXT, description: 'The old text' },
      after: { ...TEXT, description: 'The new text' },
      context: { type: 'integer', minimum: 0, maximum: 20, default: 3, description: 'Unchanged lines around a change' },
    },
    ['before', 'after'],
  ),
  outputSchema: gives({
    diff: { type: 'string', description: 'Unified diff; empty when the texts are equal' },
    added: { type: 'integer' },
    removed: { type: 'integer' },
  }),
  annotations: READS,
  run(args) {
    const context = readInteger(args, 'context', { min: 0, max: 20, fallback: 3 });
    return compareLines(splitLines(readText(args, 'before')), splitLines(readText(args, 'after')), context);
  },
};

const ENCODE: BuiltinTool = {
  name: 'encode',
  title: 'Encode or decode',
  description:
    'Encode text as base64, base64url, hexadecimal, a URL component or a JSON string literal, or decode it back.',
  inputSchema: takes(
    {
      text: TEXT,
      encoding: { type: 'string', enum: ENCODINGS, description: 'The notation' },
      decode: { type: 'boolean', description: 'Decode instead of encode', default: false },
    },
    ['text', 'encoding'],
  ),
  outputSchema: gives({ text: { type: 'string' } }),
  annotations: READS,
  run(args) {
    const text = readText(args, 'text');
    const encoding = readChoice(args, 'encoding', ENCODINGS);
    return { text: readFlag(args, 'decode') ? decoded(text, encoding) : encoded(text, encoding) };
  },
};

const HASH: BuiltinTool = {
  name: 'hash',
  title: 'Hash',
  description:
    'Compute a checksum of a text in UTF-8. Returns lower-case hexadecimal. Do not use md5 or sha1 where security matters.',
  inputSchema: takes(
    { text: TEXT, algorithm: { type: 'string', enum: HASHES, default: 'sha256', description: 'Hash function' } },
    ['text'],
  ),
  outputSchema: gives({ hash: { type: 'string' }, algorithm: { type: 'string' } }),
  annotations: READS,
  run(args) {
    const algorithm = readChoice(args, 'algorithm', HASHES, 'sha256');
    return { hash: createHash(algorithm).update(readText(args, 'text')).digest('hex'), algorithm };
  },
};

export function createText(): Toolbox {
  return {
    name: 'text',
    title: 'Text',
    instructions:
      'Exact text work that is easy to get wrong by eye: counting, replacing, sorting, comparing, encoding, hashing.',
    tools: [COUNT, CONVERT_CASE, REPLACE, LINES, DIFF, ENCODE, HASH],
  };
}
