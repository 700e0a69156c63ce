/** Finds the statements of a TOML text with their paths and offsets. The text must be valid TOML; a parser has checked it. */

/** A key with its value: a line of its own, or a member of an inline table. */
export interface TomlPair {
  /** The keys from the root of the file. */
  path: string[];
  start: number;
  /** The end of the value. */
  end: number;
  /** The pairs of an inline table, with the offset of its closing brace; undefined for any other value. */
  inline?: { members: TomlPair[]; close: number };
}

/** A table header such as `[a.b]`, or a pair. */
export interface TomlStatement extends TomlPair {
  isHeader: boolean;
}

export function statementsOf(text: string): TomlStatement[] {
  const found: TomlStatement[] = [];
  let table: string[] = [];
  let at = skipTrivia(text, 0);
  while (at < text.length) {
    if (text[at] === '[') {
      const isList = text[at + 1] === '[';
      const key = readKey(text, skipBlanks(text, at + (isList ? 2 : 1)));
      // The elements of a list of tables have no path that an edit could name.
      table = isList ? [...key.path, '[]'] : key.path;
      const end = skipBlanks(text, key.end) + (isList ? 2 : 1);
      found.push({ isHeader: true, path: table, start: at, end });
      at = skipTrivia(text, end);
    } else {
      const pair = readPair(text, at, table);
      found.push({ isHeader: false, ...pair });
      at = skipTrivia(text, pair.end);
    }
  }
  return found;
}

function readPair(text: string, start: number, table: string[]): TomlPair {
  const key = readKey(text, start);
  const path = [...table, ...key.path];
  const value = skipBlanks(text, skipBlanks(text, key.end) + 1);
  if (text[value] !== '{') return { path, start, end: skipValue(text, value) };
  const inline = readInline(text, value, path);
  return { path, start, end: inline.close + 1, inline };
}

function readInline(text: string, open: number, path: string[]): NonNullable<TomlPair['inline']> {
  const members: TomlPair[] = [];
  let at = skipTrivia(text, open + 1);
  while (at < text.length && text[at] !== '}') {
    const member = readPair(text, at, path);
    members.push(member);
    at = skipTrivia(text, member.end);
    if (text[at] === ',') at = skipTrivia(text, at + 1);
  }
  return { members, close: at };
}

/** Reads a key, which may be dotted and quoted. */
function readKey(text: string, start: number): { path: string[]; end: number } {
  const path: string[] = [];
  let at = start;
  for (;;) {
    const end = text[at] === '"' || text[at] === "'" ? skipString(text, at) : skipBare(text, at);
    path.push(keyText(text.slice(at, end)));
    const next = skipBlanks(text, end);
    if (text[next] !== '.') return { path, end };
    at = skipBlanks(text, next + 1);
  }
}

function keyText(written: string): string {
  if (written.startsWith("'")) return written.slice(1, -1);
  if (!written.startsWith('"')) return written;
  const json = written.replace(/\\U([\dA-Fa-f]{8})|\\e/g, (_, code?: string) =>
    JSON.stringify(code === undefined ? '\u001b' : String.fromCodePoint(Number.parseInt(code, 16))).slice(1, -1),
  );
  return JSON.parse(json) as string;
}

function skipBare(text: string, start: number): number {
  let at = start;
  while (at < text.length && !/[\s.=\]]/.test(text[at] ?? '')) at += 1;
  return at;
}

/** Returns the offset after a value that is not an inline table. */
function skipValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"' || first === "'") return skipString(text, start);
  if (first === '[' || first === '{') return skipBrackets(text, start);
  let at = start;
  while (at < text.length && !/[\r\n,#\]}]/.test(text[at] ?? '')) at += 1;
  return at - (/[ \t]*$/.exec(text.slice(start, at))?.[0].length ?? 0);
}

function skipBrackets(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const char = text[at];
    if (char === '"' || char === "'") at = skipString(text, at);
    else if (char === '#') at = skipComment(text, at);
    else {
      at += 1;
      if (char === '[' || char === '{') depth += 1;
      if (char === ']' || char === '}') depth -= 1;
      if (depth === 0) return at;
    }
  }
  return at;
}

/** Skips a string of one line, or of several lines between three quotes. */
function skipString(text: string, start: number): number {
  const quote = text[start] ?? '"';
  const long = text.startsWith(quote.repeat(3), start);
  const escapes = quote === '"';
  let at = start + (long ? 3 : 1);
  while (at < text.length) {
    if (escapes && text[at] === '\\') at += 2;
    else if (!long && text[at] === quote) return at + 1;
    else if (long && text.startsWith(quote.repeat(3), at)) {
      // The text may end in one or two quotes of its own.
      let end = at + 3;
      while (end < at + 5 && text[end] === quote) end += 1;
      return end;
    } else at += 1;
  }
  return at;
}

function skipComment(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

export function skipBlanks(text: string, start: number): number {
  let at = start;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  return at;
}

/** Skips whitespace, line breaks and comments. */
function skipTrivia(text: string, start: number): number {
  let at = start;
  for (;;) {
    if (text[at] === '#') at = skipComment(text, at);
    else if (at < text.length && /\s/.test(text[at] ?? '')) at += 1;
    else return at;
  }
}
