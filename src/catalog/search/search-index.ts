/** The search index: for each word the tools that have it, and how much of it by field (BM25F). */
import { beginSteps, runInSteps } from '../../event-loop.ts';
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
  /** Documents by their id. */
  documents: Document[];
  postings: Map<string, Posting>;
  /** Documents and their precedence by the key of a name or title; see `CALLED`. */
  called: Map<string, Map<number, number>>;
}

export interface Document {
  server: string;
  tool: Tool;
  act: Act | undefined;
}

/** The documents that have a word, and the weight of its occurrences in each. */
export interface Posting {
  ids: number[];
  weights: number[];
}

/** The weight of a word by its field, and the usual number of words of the field; in a longer one, each word counts less. */
const FIELDS = {
  name: { boost: 3, usual: 4 },
  server: { boost: 1.5, usual: 6 },
  title: { boost: 1, usual: 3 },
  summary: { boost: 2, usual: 8 },
  description: { boost: 1, usual: 30 },
  parameters: { boost: 0.8, usual: 6 },
  details: { boost: 0.5, usual: 30 },
};
type Field = keyof typeof FIELDS;
/** How much the length of a field counts: `b` of BM25. */
const LENGTH = 0.35;

/** The precedence of an exact match: of the tool's name, of the name after its server's name, and of a title. */
const CALLED = { name: 3, qualified: 2, title: 1 };

/** Maximum characters of a description, and of the descriptions of parameters, that are indexed. */
const MAX_TEXT = 2000;
const MAX_ABOUT = 300;
const MAX_NAME = 200;
const MAX_PARAMETERS = 200;
const MAX_VALUES = 50;
const MAX_DEPTH = 6;

/** Builds the index in small steps, so that calls continue meanwhile: about 0.1 ms for each tool. */
export async function createCorpus(servers: Iterable<Searchable>): Promise<Corpus> {
  const steps = beginSteps();
  const corpus: Corpus = {
    meanings: await runInSteps(createQueryExpansion(), steps),
    documents: [],
    postings: new Map(),
    called: new Map(),
  };
  for (const server of servers) {
    const home = homeOf(server, corpus.meanings);
    for (const tool of server.tools) {
      addTool(tool, server.name, home, corpus);
      if (steps.isOver()) await steps.next();
    }
  }
  return corpus;
}

/** Returns the words of a server by which all of its tools are found. */
function homeOf({ name, about, instructions }: Searchable, { productOf, wordsOf }: QueryExpansion): string[] {
  const { own, purpose } = productOf(name);
  // The known purpose of a product is shorter than its instructions.
  const told = about ?? (purpose.length === 0 ? instructions : undefined) ?? '';
  return [...own, ...purpose, ...wordsOf(told.slice(0, MAX_ABOUT))];
}

function addTool(tool: Tool, server: string, home: string[], corpus: Corpus): void {
  const { meanings, documents } = corpus;
  const summary = firstSentence(descriptionOf(tool));
  const name = tool.name.slice(0, MAX_NAME);
  addWords({ server: home, ...fieldsOf(tool, summary, meanings) }, corpus);
  addCalled(name, CALLED.name, corpus);
  addCalled(`${server}.${name}`, CALLED.qualified, corpus);
  for (const title of titlesOf(tool)) addCalled(title, CALLED.title, corpus);
  documents.push({ server, tool, act: meanings.actOf(name, summary) });
}

/** Adds the words of the document that is added next. */
function addWords(fields: Record<Field, string[]>, { documents, postings }: Corpus): void {
  const weights = new Map<string, number>();
  for (const [field, words] of Object.entries(fields)) {
    const { boost, usual } = FIELDS[field as Field];
    const each = boost / (1 - LENGTH + LENGTH * (words.length / usual));
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + each);
  }
  for (const [word, weight] of weights) {
    const posting = postings.get(word) ?? { ids: [], weights: [] };
    posting.ids.push(documents.length);
    posting.weights.push(weight);
    postings.set(word, posting);
  }
}

/** Records a name or title of the document that is added next. */
function addCalled(called: string, how: number, corpus: Corpus): void {
  const key = keyOf(called);
  if (key === '') return;
  const tools = corpus.called.get(key) ?? new Map<number, number>();
  const id = corpus.documents.length;
  corpus.called.set(key, tools.set(id, Math.max(how, tools.get(id) ?? 0)));
}

function fieldsOf(
  tool: Tool,
  summary: string,
  { wordsOf }: QueryExpansion,
): Record<Exclude<Field, 'server'>, string[]> {
  const { names, details } = parametersOf(tool.inputSchema);
  return {
    name: wordsOf(tool.name.slice(0, MAX_NAME)),
    title: wordsOf(titlesOf(tool).join(' ')),
    summary: wordsOf(summary),
    description: wordsOf(descriptionOf(tool).slice(summary.length)),
    parameters: wordsOf(names.join(' ')),
    details: wordsOf(details.join(' ').slice(0, MAX_TEXT)),
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
