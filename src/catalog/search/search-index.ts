/** The search index: tools as documents, with all texts of their servers by field, in stemmed words. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import MiniSearch from 'minisearch';
import { titlesOf } from '../../render/title.ts';
import { firstSentence } from '../../render/typescript.ts';
import { isRecord } from '../../wire/message.ts';
import type { Tool } from '../listing.ts';
import type { Act } from './intent.ts';
import { createQueryExpansion, type QueryExpansion } from './query-expansion.ts';
import { keyOf } from './tokenizer.ts';

export interface Searchable {
  name: string;
  /** The description of the server in the config, and the server's own instructions. */
  about?: string | undefined;
  instructions?: string | undefined;
  tools: readonly Tool[];
}

export interface Corpus {
  meanings: QueryExpansion;
  text: MiniSearch;
  /** Documents by their id. */
  documents: Document[];
  /** The words in the names of tools. */
  names: Set<string>;
  homes: Map<string, Home>;
  /** Documents and their precedence by the key of a name or title; see `CALLED`. */
  called: Map<string, Map<number, number>>;
}

export interface Document {
  server: string;
  tool: Tool;
  act: Act | undefined;
}

/** The words by which a question may refer to a server. */
export interface Home {
  /** The words of its name. */
  own: Set<string>;
  purpose: Set<string>;
}

/** The weight of a word by its field. */
const BOOST = { name: 3, server: 2, title: 1, summary: 2, description: 1, parameters: 0.8, details: 0.5 };
type Field = keyof typeof BOOST;

/** The precedence of an exact match: of the tool's name, of the name after its server's name, and of a title. */
const CALLED = { name: 3, qualified: 2, title: 1 };

/** Maximum characters of a description, and of the descriptions of parameters, that are indexed. */
const MAX_TEXT = 2000;
const MAX_ABOUT = 300;
const MAX_NAME = 200;
const MAX_PARAMETERS = 200;
const MAX_VALUES = 50;
const MAX_DEPTH = 6;
/** Number of tools that are indexed before the event loop continues: about 5 ms. */
const STEP = 10;

/** Builds the index. It takes a second for a few thousand tools, in small steps, so that calls continue meanwhile. */
export async function createCorpus(servers: Iterable<Searchable>): Promise<Corpus> {
  const meanings = createQueryExpansion();
  const text = new MiniSearch({
    fields: Object.keys(BOOST),
    // The texts are already words, separated by one space.
    tokenize: (words) => (words === '' ? [] : words.split(' ')),
    processTerm: (word) => word,
    searchOptions: { boost: BOOST, weights: { prefix: 0.2, fuzzy: 0.15 } },
  });
  const corpus: Corpus = { meanings, text, documents: [], names: new Set(), homes: new Map(), called: new Map() };
  for (const server of servers) {
    const home = addHome(server, corpus);
    for (const tool of server.tools) {
      addTool(tool, server.name, home, corpus);
      if (corpus.documents.length % STEP === 0) await nextTurn();
    }
  }
  return corpus;
}

/** Adds a server; returns the words by which all of its tools are found. */
function addHome({ name, about, instructions }: Searchable, { meanings, homes }: Corpus): string {
  const { own, purpose } = meanings.productOf(name);
  // The known purpose of a product is shorter than its instructions.
  const told = about ?? (purpose.length === 0 ? instructions : undefined) ?? '';
  const said = meanings.wordsOf(told.slice(0, MAX_ABOUT));
  homes.set(name, { own: new Set(own), purpose: new Set([...purpose, ...said]) });
  return [...own, ...purpose, ...said].join(' ');
}

function addTool(tool: Tool, server: string, home: string, corpus: Corpus): void {
  const { meanings, text, documents, names } = corpus;
  const summary = firstSentence(descriptionOf(tool));
  text.add({ id: documents.length, server: home, ...fieldsOf(tool, summary, meanings) });
  const name = tool.name.slice(0, MAX_NAME);
  for (const word of meanings.words.of(name)) names.add(word);
  addCalled(name, CALLED.name, corpus);
  addCalled(`${server}.${name}`, CALLED.qualified, corpus);
  for (const title of titlesOf(tool)) addCalled(title, CALLED.title, corpus);
  documents.push({ server, tool, act: meanings.actOf(name, summary) });
}

/** Records a name or title of the document that is added next. */
function addCalled(called: string, how: number, corpus: Corpus): void {
  const key = keyOf(called);
  if (key === '') return;
  const tools = corpus.called.get(key) ?? new Map<number, number>();
  const id = corpus.documents.length;
  corpus.called.set(key, tools.set(id, Math.max(how, tools.get(id) ?? 0)));
}

function fieldsOf(tool: Tool, summary: string, { wordsOf }: QueryExpansion): Record<Exclude<Field, 'server'>, string> {
  const { names, details } = parametersOf(tool.inputSchema);
  const words = (text: string) => wordsOf(text).join(' ');
  return {
    name: words(tool.name.slice(0, MAX_NAME)),
    title: words(titlesOf(tool).join(' ')),
    summary: words(summary),
    description: words(descriptionOf(tool).slice(summary.length)),
    parameters: words(names.join(' ')),
    details: words(details.join(' ').slice(0, MAX_TEXT)),
  };
}

function descriptionOf({ description }: Tool): string {
  return typeof description === 'string' ? description.slice(0, MAX_TEXT) : '';
}

/** Returns the names of parameters at any depth, their descriptions, and their possible values. */
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
