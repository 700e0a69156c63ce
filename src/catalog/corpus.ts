/** Tools as documents to search in: everything a server says of them, by field, in words of the index. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import MiniSearch from 'minisearch';
import { firstSentence } from '../render/typescript.ts';
import { isRecord } from '../wire/message.ts';
import type { Act } from './intent.ts';
import type { Tool } from './list.ts';
import { createMeanings, type Meanings } from './meanings.ts';

export interface Searchable {
  name: string;
  /** What its owner says of the server as a whole, and what it says itself. */
  about?: string | undefined;
  instructions?: string | undefined;
  tools: readonly Tool[];
}

export interface Corpus {
  meanings: Meanings;
  text: MiniSearch;
  /** By the id of the document. */
  documents: Document[];
  /** The words that tools are called by. */
  names: Set<string>;
  homes: Map<string, Home>;
}

export interface Document {
  server: string;
  tool: Tool;
  act: Act | undefined;
}

/** A server as people may speak of it. */
export interface Home {
  /** The words of its name. */
  own: Set<string>;
  purpose: Set<string>;
}

/** How much a word says by where it stands. */
const BOOST = { name: 3, server: 2, title: 1, summary: 2, description: 1, parameters: 0.8, details: 0.5 };
type Field = keyof typeof BOOST;

/** Characters of a description, and of what is said of parameters, that are looked at. */
const MAX_TEXT = 2000;
const MAX_ABOUT = 300;
const MAX_NAME = 200;
const MAX_PARAMETERS = 200;
const MAX_VALUES = 50;
const MAX_DEPTH = 6;
/** Tools that are taken in before others get their turn: some 5 ms. */
const STEP = 10;

/** Takes a second for a few thousand tools, in small steps: calls go on meanwhile. */
export async function createCorpus(servers: Iterable<Searchable>): Promise<Corpus> {
  const meanings = createMeanings();
  const text = new MiniSearch({
    fields: Object.keys(BOOST),
    // The texts are words already, with one space between two.
    tokenize: (words) => (words === '' ? [] : words.split(' ')),
    processTerm: (word) => word,
    searchOptions: { boost: BOOST, weights: { prefix: 0.2, fuzzy: 0.15 } },
  });
  const corpus: Corpus = { meanings, text, documents: [], names: new Set(), homes: new Map() };
  for (const server of servers) {
    const home = addHome(server, corpus);
    for (const tool of server.tools) {
      addTool(tool, server.name, home, corpus);
      if (corpus.documents.length % STEP === 0) await nextTurn();
    }
  }
  return corpus;
}

/** Returns the words that all of its tools are found by. */
function addHome({ name, about, instructions }: Searchable, { meanings, homes }: Corpus): string {
  const { own, purpose } = meanings.productOf(name);
  // What is known of a product says it shorter than its instructions.
  const told = about ?? (purpose.length === 0 ? instructions : undefined) ?? '';
  const said = meanings.wordsOf(told.slice(0, MAX_ABOUT));
  homes.set(name, { own: new Set(own), purpose: new Set([...purpose, ...said]) });
  return [...own, ...purpose, ...said].join(' ');
}

function addTool(tool: Tool, server: string, home: string, { meanings, text, documents, names }: Corpus): void {
  const summary = firstSentence(descriptionOf(tool));
  text.add({ id: documents.length, server: home, ...fieldsOf(tool, summary, meanings) });
  const name = tool.name.slice(0, MAX_NAME);
  for (const word of meanings.words.of(name)) names.add(word);
  documents.push({ server, tool, act: meanings.actOf(name, summary) });
}

function fieldsOf(tool: Tool, summary: string, { wordsOf }: Meanings): Record<Exclude<Field, 'server'>, string> {
  const { names, details } = parametersOf(tool.inputSchema);
  const words = (text: string) => wordsOf(text).join(' ');
  return {
    name: words(tool.name.slice(0, MAX_NAME)),
    title: words(titleOf(tool).slice(0, MAX_NAME)),
    summary: words(summary),
    description: words(descriptionOf(tool).slice(summary.length)),
    parameters: words(names.join(' ')),
    details: words(details.join(' ').slice(0, MAX_TEXT)),
  };
}

function descriptionOf({ description }: Tool): string {
  return typeof description === 'string' ? description.slice(0, MAX_TEXT) : '';
}

function titleOf({ title, annotations }: Tool): string {
  if (typeof title === 'string') return title;
  return typeof annotations?.title === 'string' ? annotations.title : '';
}

/** Names of parameters at any depth; what is said of them, and the values that they may have. */
function parametersOf(schema: unknown): { names: string[]; details: string[] } {
  const names: string[] = [];
  const details: string[] = [];
  const seen = new Set<unknown>();
  const visit = (value: unknown, depth: number): void => {
    if (!isRecord(value) || depth > MAX_DEPTH || seen.has(value) || names.length >= MAX_PARAMETERS) return;
    seen.add(value);
    if (depth > 0 && typeof value.description === 'string') details.push(value.description.slice(0, MAX_TEXT));
    if (Array.isArray(value.enum)) details.push(...value.enum.filter(isText).slice(0, MAX_VALUES));
    for (const [name, property] of isRecord(value.properties) ? Object.entries(value.properties) : []) {
      names.push(name.slice(0, MAX_NAME));
      visit(property, depth + 1);
    }
    visit(value.items, depth + 1);
    for (const part of [value.anyOf, value.oneOf, value.allOf].flat()) visit(part, depth + 1);
  };
  visit(schema, 0);
  return { names, details };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_NAME;
}
