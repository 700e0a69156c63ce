/**
 * A fixed policy that does the tasks of npm run bench:tasks in place of a model. It knows the tools that a text has shown it with their
 * parameters, searches for the others, takes the best hit, and does what a refusal says. It is given the right arguments of each call, but
 * writes them only when it has read their names.
 */
import { neededBy } from './task-world.mjs';

/** A search is given up after this many wrong tools. */
const MAX_WRONG = 3;
/** A task is given up after this many turns. */
const MAX_TURNS = 20;

/** `fluent` searches for all actions in one turn and chains calls in a batch; `plain` does one thing per turn. */
export const STYLES = ['fluent', 'plain'];

/** A model with all tools listed makes calls that do not depend on each other in one turn. */
export function directTurns({ calls }, style) {
  if (style === 'plain') return calls.length;
  const depth = [];
  for (const call of calls) depth.push(1 + Math.max(0, ...neededBy(call).map((index) => depth[index])));
  return Math.max(...depth);
}

/** Does a task: `{turns, solved}`. `client.call` runs a tool of mcpx; `client.menu` is what its list of tools said. */
export async function solve({ calls }, client, style) {
  const state = {
    read: [client.menu],
    wrong: new Map(),
    hits: new Map(),
    refused: new Set(),
    done: new Set(),
    turns: 0,
  };
  while (state.done.size < calls.length && state.turns < MAX_TURNS) {
    const next = readyCalls(calls, state, style);
    const unknown = next.filter((index) => mustSearch(calls[index], state));
    state.turns += 1;
    if (unknown.length > 0) await searchFor(unknown, calls, { client, state, style });
    else if (!(await run(next, calls, { client, state, style }))) return { turns: state.turns, solved: false };
  }
  return { turns: state.turns, solved: state.done.size === calls.length };
}

/** The calls that can be written now. A fluent policy looks at all that are left, because it searches for all of them at once. */
function readyCalls(calls, { done }, style) {
  const left = [...calls.keys()].filter((index) => !done.has(index));
  return style === 'fluent'
    ? left
    : left.filter((index) => neededBy(calls[index]).every((need) => done.has(need))).slice(0, 1);
}

function mustSearch(call, { read, hits, refused }) {
  return !hits.has(call.query) && !refused.has(call.tool) && !shows(read, call.tool, call.arguments);
}

async function searchFor(unknown, calls, { client, state, style }) {
  const queries = [...new Set(unknown.map((index) => calls[index].query))];
  for (const query of style === 'fluent' ? queries : queries.slice(0, 1)) {
    const { text } = await client.call('inspect', { query });
    state.read.push(text);
    state.hits.set(query, hitsIn(text));
  }
}

/** The tools at the beginnings of lines, in their order. */
export function hitsIn(text) {
  return [...text.matchAll(/^([\w-]+\.[\w-]+)(?=\(| |$|,)/gm)].map(([, name]) => name);
}

/** Runs the best hit of each call; false if a task cannot be done. */
async function run(next, calls, { client, state, style }) {
  const chosen = next.map((index) => ({ index, tool: chosenTool(calls[index], state) }));
  if (chosen.some(({ tool }) => tool === undefined)) return false;
  const wrong = chosen.filter(({ index, tool }) => tool !== calls[index].tool);
  if (wrong.length > 0) {
    for (const { index, tool } of wrong) await tryWrong(calls[index], tool, { client, state });
    return true;
  }
  const unshown = next.filter((index) => !isShown(calls[index], state));
  if (unshown.length > 0) {
    for (const index of unshown.slice(0, style === 'fluent' ? unshown.length : 1))
      await tryBlindly(calls[index], { client, state });
    return true;
  }
  return runKnown(chainOf(next, calls, state), calls, { client, state });
}

/** The wanted tool if a text shows it, else the best hit that was not wrong; undefined if there is none. */
function chosenTool(call, { read, hits, wrong, refused }) {
  const found = hits.get(call.query);
  if (refused.has(call.tool) || found === undefined) return call.tool;
  const tried = wrong.get(call.query) ?? [];
  if (tried.length >= MAX_WRONG) return undefined;
  const isListed = shows(read.slice(0, 1), call.tool, call.arguments);
  return isListed ? call.tool : found.find((name) => !tried.includes(name));
}

const isShown = (call, { read, refused }) => refused.has(call.tool) || shows(read, call.tool, call.arguments);

async function tryWrong(call, tool, { client, state }) {
  const { text } = await client.call('exec', { ...named(tool), arguments: call.arguments });
  state.read.push(text);
  state.wrong.set(call.query, [...(state.wrong.get(call.query) ?? []), tool]);
}

/** Calls a tool whose parameters were not shown, which is refused with its signature. */
async function tryBlindly(call, { client, state }) {
  const { text } = await client.call('exec', { ...named(call.tool), arguments: {} });
  state.read.push(text);
  state.refused.add(call.tool);
}

const named = (tool) => {
  const dot = tool.indexOf('.');
  return { server_name: tool.slice(0, dot), tool_name: tool.slice(dot + 1) };
};

/** The calls that fit into one batch: what they need is over, or earlier in the batch under a name that was shown. */
function chainOf(next, calls, { done, read }) {
  const chain = [];
  for (const index of next) {
    const { from = {}, reads = [], after = [] } = calls[index];
    const isOver = (need) => done.has(need);
    const isReferable = (path) => {
      const source = Number.parseInt(path, 10);
      return isOver(source) || (chain.includes(source) && showsResult(read, calls[source].tool, path));
    };
    const isReady = Object.values(from).every(isReferable) && reads.every(isOver);
    if (isReady && after.every((need) => isOver(need) || chain.includes(need))) chain.push(index);
  }
  return chain;
}

async function runKnown(chain, calls, { client, state }) {
  const written = chain.map((index) => ({ ...named(calls[index].tool), arguments: argumentsOf(calls[index], chain) }));
  const { text, isError } = await client.call('exec', chain.length === 1 ? written[0] : { calls: written });
  state.read.push(text);
  // A refused call of this policy is wrong for a reason that no second try mends.
  if (isError === true) return false;
  for (const index of chain) state.done.add(index);
  return true;
}

/** The arguments, with references to calls of the same batch in place of what is not known yet. */
function argumentsOf({ arguments: args, from = {} }, chain) {
  const copy = structuredClone(args);
  for (const [place, path] of Object.entries(from)) {
    const [source, rest] = [Number.parseInt(path, 10), path.slice(path.indexOf('.') + 1)];
    if (!chain.includes(source)) continue;
    const keys = place.split(/[.[\]]+/).filter((key) => key !== '');
    const last = keys.pop();
    const holder = keys.reduce((value, key) => value[key], copy);
    holder[last] = { $from: `${chain.indexOf(source)}.${rest}` };
  }
  return copy;
}

/** True if a text shows the tool with every name that its arguments have, at any depth. */
export function shows(read, tool, args) {
  const names = keysIn(args);
  return signaturesOf(read, tool).some(({ params }) => names.every((name) => hasWord(params, name)));
}

/** True if a text shows the names of this part of the tool's result. */
export function showsResult(read, tool, path) {
  const names = path.replace(/'[^']*'/g, '').match(/[A-Za-z_]\w*/g) ?? [];
  return signaturesOf(read, tool).some(({ result }) => names.every((name) => hasWord(result, name)));
}

function keysIn(value) {
  if (Array.isArray(value)) return value.flatMap(keysIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysIn(inner)]);
}

const hasWord = (text, word) => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text);

/** The signatures of a tool: after `server.tool`, or after its name in the lines of its server. */
function signaturesOf(read, tool) {
  const { server_name: server, tool_name: name } = named(tool);
  return read.flatMap((text) => {
    const whole = places(text, `${tool}(`);
    const blocks = text.split(/\n(?=\S)/).filter((block) => /^[\w-]+/.exec(block)?.[0] === server);
    return [...whole, ...blocks.flatMap((block) => places(block, `${name}(`))];
  });
}

function places(text, opening) {
  const found = [];
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + 1)) {
    if (/[\w.-]/.test(text[at - 1] ?? ' ')) continue;
    const begin = at + opening.length;
    let depth = 1;
    let end = begin;
    for (; end < text.length && depth > 0; end += 1) depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0;
    const rest = text.slice(end, text.indexOf('\n', end) < 0 ? undefined : text.indexOf('\n', end));
    found.push({ params: text.slice(begin, end - 1), result: rest.startsWith(':') ? rest.split(' // ')[0] : '' });
  }
  return found;
}
