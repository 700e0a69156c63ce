/** The menu: which tools there are, in as much detail as a fixed number of characters allows. Same catalog, same bytes. */
import { cut, oneLine } from '../render/text.ts';
import { firstSentence, parameterList } from '../render/typescript.ts';
import type { ServerView } from '../router/router.ts';

/** Some clients cut a description at this many characters, silently. */
export const DESCRIPTION_LIMIT = 2048;

export interface MenuOptions {
  /** Characters for the whole menu. */
  budget: number;
  /** Characters of a server's instructions. */
  maxInstructions: number;
}

/** How much of a server is shown; a richer step may or may not fit. */
interface Detail {
  tools: 'count' | 'names' | 'parameters' | 'sentences';
  instructions: boolean;
}

const POOREST: Detail = { tools: 'count', instructions: false };

/** Tried in this order for every server, so that all have names before one has sentences. */
const STEPS: Partial<Detail>[] = [
  { tools: 'names' },
  { instructions: true },
  { tools: 'parameters' },
  { tools: 'sentences' },
];

export function renderMenu(servers: ServerView[], { budget, maxInstructions }: MenuOptions): string {
  const lines = [...servers]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((server) => ({ server, detail: POOREST, text: renderServer(server, POOREST, maxInstructions) }));
  let used = lines.reduce((total, line) => total + line.text.length + 1, 0);
  if (used > budget)
    return cutMenu(
      lines.map((line) => line.text),
      budget,
    );

  for (const step of STEPS) {
    for (const line of lines) {
      const detail = { ...line.detail, ...step };
      const text = renderServer(line.server, detail, maxInstructions);
      const grown = used + text.length - line.text.length;
      if (grown > budget) continue;
      Object.assign(line, { detail, text });
      used = grown;
    }
  }
  return lines.map((line) => line.text).join('\n');
}

function renderServer({ name, tools, entry }: ServerView, detail: Detail, maxInstructions: number): string {
  const about = entry.spec.description ?? entry.hello?.instructions;
  const note = detail.instructions && about ? ` — ${cut(oneLine(about), maxInstructions)}` : '';
  if (entry.listing.kind === 'failed' && tools.length === 0) return `${name} (not available now)`;
  if (tools.length === 0 || detail.tools === 'count') return `${name} (${count(tools.length)})${note}`;
  if (detail.tools === 'sentences') {
    const lines = tools.map((tool) => `\n  ${tool.name}: ${firstSentence(tool.description ?? '')}`.trimEnd());
    return `${name}${note}${lines.join('')}`;
  }
  const names = tools.map((tool) =>
    detail.tools === 'names' ? tool.name : `${tool.name}(${parameterList(tool.inputSchema)})`,
  );
  return `${name}: ${names.join(', ')}${note}`;
}

/** So many servers that not even their names fit: as many whole lines as do, and how many are missing. */
function cutMenu(lines: string[], budget: number): string {
  const kept: string[] = [];
  let used = 0;
  for (const line of lines) {
    const rest = `… and ${lines.length - kept.length} more servers`;
    if (used + line.length + 1 + rest.length > budget) break;
    kept.push(line);
    used += line.length + 1;
  }
  return [...kept, `… and ${lines.length - kept.length} more servers`].join('\n');
}

function count(tools: number): string {
  return tools === 1 ? '1 tool' : `${tools} tools`;
}
