/** Reads the syntax trees of `src/` for `npm run shape`: files, functions, comments and the graph of imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix, sep } from 'node:path';
import { parseSync, Visitor } from 'rolldown/utils';

/** File names that may occur twice: the folder says which direction or side of mcpx the file is about. */
const SAME_BY_DESIGN = new Set(['stdio.ts', 'http.ts', 'sse.ts', 'ws.ts']);

/** Metaphors that only an insider understands. No part of a name is one of them; a name is split at hyphens and capitals. */
export const METAPHORS = new Set(
  `vigil living standing lent torrent reliance ties wishes wish shelf experience meanings phrasing emphasis leads natives seek
  welcome seal hello dress fleeting dismiss curious owed inert gather saver exposition verbatim visit mirrored`.split(
    /\s+/,
  ),
);

/** Words that say too little alone. They may be part of a longer name, such as `server-requests`, but not all of it. */
export const VAGUE_WORDS = new Set(
  `member owners reverse missing problems linear masked slot pieces gate together links stored meter turn reply refuse unread
  malformed trace running observed sentence world findings exact scan traffic bound rounds revisions way lasts timely paid about
  party asked heard expected drop lose holds renew give skip`.split(/\s+/),
);

/** Beginnings of comment sentences that have a clause where the subject should be. */
const CLAUSE_AS_SUBJECT =
  /^(?:what(?:ever)?|who(?:ever)?|one (?:that|who|whose|of)|those (?:that|who|which|whose|of))\b/i;

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];

/** Every TypeScript file and module script under a folder, parsed. Paths are relative to it, with forward slashes. */
export function readSources(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.m?[jt]s$/.test(path))
    .map((path) => path.split(sep).join('/'))
    .sort()
    .map((path) => parseSource(path, readFileSync(join(folder, path), 'utf8')));
}

export function parseSource(path, text) {
  const { program, comments } = parseSync(path, text);
  const lineAt = lineNumbers(text);
  const functions = [];
  const imports = [];
  const exported = [];
  const addImport = ({ source }) => source?.value?.startsWith('.') && imports.push(source.value);
  const addFunction = ({ start, end }) => functions.push(lineAt(end) - lineAt(start) + 1);
  new Visitor({
    ...Object.fromEntries(FUNCTIONS.map((type) => [type, addFunction])),
    ImportDeclaration: addImport,
    ImportExpression: addImport,
    ExportAllDeclaration: addImport,
    ExportNamedDeclaration: (node) => {
      addImport(node);
      exported.push(...namesOf(node.declaration));
    },
  }).visit(program);
  return {
    ...{ path, functions, exported, lines: text.split('\n').length - 1 },
    imports: [...new Set(imports.map((one) => posix.normalize(posix.join(dirname(path), one))))],
    comments: sentencesOf(comments),
  };
}

/** The names that an exported declaration introduces. */
function namesOf(declaration) {
  const declared = declaration?.declarations ?? (declaration?.id ? [declaration] : []);
  return declared.map(({ id }) => id?.name).filter((name) => name !== undefined);
}

/** A function that tells the line of a position. */
function lineNumbers(text) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (position) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= position) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

/** The sentences of all comments. Line comments that follow each other are one text. */
function sentencesOf(comments) {
  const texts = [];
  for (const { type, value, start } of comments) {
    const last = texts.at(-1);
    if (type === 'Line' && last?.type === 'Line' && start - last.end < 60 && /[^.:]$/.test(last.text)) {
      last.text += ` ${value.trim()}`;
      last.end = start + value.length;
    } else texts.push({ type, text: value.trim(), end: start + value.length });
  }
  return texts.flatMap(({ text }) =>
    text
      .replace(/^\s*\*+ ?/gm, '')
      .replace(/\s+/g, ' ')
      .split(/(?<=[.!?])\s+(?=[A-Z`])/)
      .map((sentence) => sentence.trim())
      .filter((sentence) => /\s/.test(sentence)),
  );
}

export const lacksSubject = (sentence) => CLAUSE_AS_SUBJECT.test(sentence);

const wordsOf = (name) => name.split(/[-_.]|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());

function isOpaque(name) {
  const words = wordsOf(name);
  return words.some((word) => METAPHORS.has(word)) || (words.length === 1 && VAGUE_WORDS.has(words[0]));
}

/** File names and exported names that are a metaphor or say too little, as `path` or `path: name`. */
export function opaqueNames(sources) {
  return sources.flatMap(({ path, exported }) => [
    ...(isOpaque(basename(path, '.ts')) ? [path] : []),
    ...exported.filter(isOpaque).map((name) => `${path}: ${name}`),
  ]);
}

/** File names that occur in several folders, with their paths. */
export function duplicateNames(sources) {
  const byName = new Map();
  for (const { path } of sources) byName.set(basename(path), [...(byName.get(basename(path)) ?? []), path]);
  return [...byName]
    .filter(([name, paths]) => paths.length > 1 && !SAME_BY_DESIGN.has(name))
    .map(([name, paths]) => `${name}: ${paths.join(', ')}`);
}

/** Groups of files that import each other, types included, largest first (Tarjan's algorithm). */
export function importCycles(sources) {
  const graph = new Map(sources.map(({ path, imports }) => [path, imports]));
  const state = new Map();
  const stack = [];
  const groups = [];
  const visit = (path) => {
    const own = { index: state.size, low: state.size, open: true };
    state.set(path, own);
    stack.push(path);
    for (const next of (graph.get(path) ?? []).filter((one) => graph.has(one))) {
      const other = state.get(next) ?? visit(next);
      if (other.open) own.low = Math.min(own.low, other.low);
    }
    if (own.low === own.index) {
      const group = stack.splice(stack.indexOf(path));
      for (const one of group) state.get(one).open = false;
      if (group.length > 1) groups.push(group.sort());
    }
    return own;
  };
  for (const path of graph.keys()) if (!state.has(path)) visit(path);
  return groups.sort((a, b) => b.length - a.length);
}
