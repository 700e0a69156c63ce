/** Reads a Markdown document as the tests need it: headings, fenced code, code in sentences, links, tables. */

export interface CodeBlock {
  language: string;
  text: string;
  /** 1-based, of the opening fence. */
  line: number;
}

export interface Document {
  headings: { level: number; text: string }[];
  blocks: CodeBlock[];
  /** Code in back quotes, outside fences. */
  spans: string[];
  links: string[];
  /** Rows of every table, cells trimmed, without the header and its rule. */
  tables: string[][][];
  /** Everything outside fences. */
  prose: string;
}

export function readMarkdown(source: string): Document {
  const { prose, blocks } = splitFences(source);
  return {
    blocks,
    prose,
    headings: [...prose.matchAll(/^(#{1,6}) +(.+)$/gm)].map(([, marks = '', text = '']) => ({
      level: marks.length,
      text,
    })),
    spans: [...prose.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, span = '']) => span),
    links: [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link),
    tables: readTables(prose),
  };
}

function splitFences(source: string): { prose: string; blocks: CodeBlock[] } {
  const prose: string[] = [];
  const blocks: CodeBlock[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of source.split('\n').entries()) {
    const fence = /^```(\w*)$/.exec(line);
    if (open === undefined && fence !== null) open = { language: fence[1] ?? '', line: index + 1, lines: [] };
    else if (open === undefined) prose.push(line);
    else if (line !== '```') open.lines.push(line);
    else {
      blocks.push({ language: open.language, line: open.line, text: open.lines.join('\n') });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`the code that begins in line ${open.line} has no end`);
  return { prose: prose.join('\n'), blocks };
}

function readTables(prose: string): string[][][] {
  const tables: string[][][] = [];
  let rows: string[][] = [];
  for (const line of [...prose.split('\n'), '']) {
    if (line.startsWith('|')) {
      rows.push(
        line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
      continue;
    }
    if (rows.length > 2) tables.push(rows.slice(2));
    rows = [];
  }
  return tables;
}

/** The anchor that a heading gets on the web. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/ /g, '-');
}
