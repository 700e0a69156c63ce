/** The menu: lists the tools in as much detail as its budget allows; the same catalog gives the same bytes. */
import type { Tool } from '../../catalog/listing.ts';
import { cut, oneLine } from '../../render/text.ts';
import { firstSentence, parameterList, renderTool } from '../../render/typescript.ts';
import type { ServerView } from '../../router/router.ts';
import { aboutServer } from '../instructions.ts';

export interface MenuOptions {
  /** Maximum characters of the menu. */
  budget: number;
  /** Maximum code points of a server's instructions. */
  maxInstructions: number;
}

/** The level of detail for a server. */
interface Detail {
  tools: 'count' | 'names' | 'parameters' | 'sentences' | 'signatures';
  instructions: boolean;
}

interface Line {
  server: ServerView;
  detail: Detail;
  text: string;
}

/** Maximum code points of a sentence beside a signature. */
const MAX_SENTENCE = 160;

const POOREST: Detail = { tools: 'count', instructions: false };

/**
 * Steps of increasing detail. Each step applies to every server with room for it, so all servers get names before one
 * gets sentences.
 */
const STEPS: { from: Detail['tools'][]; to: Partial<Detail> }[] = [
  { from: ['count'], to: { tools: 'names' } },
  { from: ['count', 'names'], to: { instructions: true } },
  { from: ['names'], to: { tools: 'parameters' } },
  { from: ['names', 'parameters'], to: { tools: 'sentences' } },
  // With its signatures and sentences, a server needs no look-up.
  { from: ['sentences'], to: { tools: 'signatures' } },
];

export function renderMenu(servers: ServerView[], options: MenuOptions): string {
  return menuParts(servers, options)
    .map(({ text }) => text)
    .join('\n');
}

/** Returns the text for each server; an entry without a server reports how many are missing. */
export function menuParts(
  servers: ServerView[],
  { budget, maxInstructions }: MenuOptions,
): { server?: string; text: string }[] {
  const lines = [...servers]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(
      (server): Line => ({ server, detail: POOREST, text: renderServer(server, POOREST, { maxInstructions }) ?? '' }),
    );
  // The calculation counts a line break after the last line, which is not written.
  let room = budget + 1 - lines.reduce((total, { text }) => total + text.length + 1, 0);
  if (room < 0) return crowdedMenu(lines, budget);
  for (const { from, to } of STEPS) {
    const offers = lines
      .filter(({ detail }) => from.includes(detail.tools))
      .map((line) => offerOf(line, to, { maxInstructions, room }))
      .filter(({ line, text }) => text !== line.text);
    for (const { line, detail, text, cost } of affordable(offers, room)) {
      Object.assign(line, { detail, text });
      room -= cost;
    }
  }
  return lines.map(partOf);
}

function partOf({ server, text }: Line): { server: string; text: string } {
  return { server: server.name, text };
}

/** A server's line after a step, and the number of characters that the step adds; infinite if there is no room for it. */
interface Offer {
  line: Line;
  detail: Detail;
  text: string;
  cost: number;
}

function offerOf(line: Line, step: Partial<Detail>, { maxInstructions, room }: Bounds & { room: number }): Offer {
  const detail = { ...line.detail, ...step };
  const text = renderServer(line.server, detail, { maxInstructions, max: line.text.length + room });
  if (text === undefined) return { line, detail, text: '', cost: Number.POSITIVE_INFINITY };
  return { line, detail, text, cost: text.length - line.text.length };
}

/** Maximum tools of a small server: listing their names costs no more than one `inspect` call. */
const SMALL = 10;

/**
 * Returns the cheapest offers that fit together. If most servers would be left out, the choice would be arbitrary,
 * and a model prefers the tools that it sees. Then only small servers, and servers that need at most an equal share,
 * get more than their number of tools; the model searches for the rest.
 */
function affordable(offers: Offer[], room: number): Offer[] {
  const sorted = [...offers].sort((a, b) => a.cost - b.cost || (a.line.server.name < b.line.server.name ? -1 : 1));
  const fitting = thatFit(sorted, room);
  if (fitting.length * 2 >= sorted.length) return fitting;
  const share = room / sorted.length;
  return thatFit(
    sorted.filter(({ line, cost }) => line.server.tools.length <= SMALL || cost <= share),
    room,
  );
}

function thatFit(sorted: Offer[], room: number): Offer[] {
  let left = room;
  const end = sorted.findIndex(({ cost }) => {
    left -= cost;
    return left < 0;
  });
  return end < 0 ? sorted : sorted.slice(0, end);
}

interface Bounds {
  maxInstructions: number;
  /** Characters of the names, sentences or signatures (default unlimited). */
  max?: number;
}

/** Returns undefined as soon as the tools take more than `max` characters; a server may have thousands. */
function renderServer({ name, tools, entry }: ServerView, detail: Detail, bounds: Bounds): string | undefined {
  const { maxInstructions, max = Number.POSITIVE_INFINITY } = bounds;
  const about = aboutServer({ entry });
  const note = detail.instructions && about ? ` — ${cut(oneLine(about), maxInstructions)}` : '';
  if (tools.length === 0 && entry.listing.kind !== 'listed') {
    return `${name} (${entry.listing.kind === 'failed' ? 'not available now' : 'not listed yet'})`;
  }
  if (tools.length === 0 || detail.tools === 'count') return `${name} (${count(tools.length)})${note}`;
  const lines = linesWithin(tools, WRITE[detail.tools], max);
  if (lines === undefined) return undefined;
  // The first name follows a colon instead of a comma.
  const isInline = detail.tools === 'names' || detail.tools === 'parameters';
  return isInline ? `${name}: ${lines.slice(2)}${note}` : `${name}${note}${lines}`;
}

/** The text of a tool at a level of detail, after its separator. */
const WRITE: Record<Exclude<Detail['tools'], 'count'>, (tool: Tool) => string> = {
  names: ({ name }) => `, ${name}`,
  parameters: (tool) => `, ${withParameters(tool)}`,
  sentences: ({ name, description }) => `\n  ${name}: ${firstSentence(description ?? '')}`.trimEnd(),
  signatures: (tool) => `\n  ${renderTool(tool, { form: 'short', maxDescription: MAX_SENTENCE })}`,
};

/** Returns the texts of the tools joined; undefined as soon as they have more than `max` characters. */
export function linesWithin(tools: readonly Tool[], write: (tool: Tool) => string, max: number): string | undefined {
  let text = '';
  for (const tool of tools) {
    text += write(tool);
    if (text.length > max) return undefined;
  }
  return text;
}

/** Returns the name alone if the parameters are unknown. */
function withParameters({ name, inputSchema }: Tool): string {
  const list = parameterList(inputSchema);
  return list === '…' ? name : `${name}(${list})`;
}

/**
 * Returns the server names alone, for a menu without room for more: all of them, or as many as fit and the number
 * that is missing.
 */
function crowdedMenu(lines: Line[], budget: number): { server?: string; text: string }[] {
  const names = lines.map(({ server }) => ({ server: server.name, text: server.name }));
  let kept = 0;
  const rest = () => `… and ${names.length - kept} more ${kept + 1 === names.length ? 'server' : 'servers'}`;
  let used = 0;
  if (names.reduce((total, { text }) => total + text.length + 1, 0) <= budget + 1) return names;
  for (const { text } of names) {
    if (used + text.length + 1 + rest().length > budget) break;
    kept += 1;
    used += text.length + 1;
  }
  return used + rest().length > budget ? [] : [...names.slice(0, kept), { text: rest() }];
}

function count(tools: number): string {
  return tools === 1 ? '1 tool' : `${tools} tools`;
}
