/** Sets of questions with labels for npm run bench:search: how often the right tool is among the first, beside a plain BM25. */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import MiniSearch from 'minisearch';
import { BuildError, readJson } from '../project.mjs';

/** Words that say nothing, for the plain BM25. */
const STOP = new Set(
  'a an the this that it its i me my we our you your he his she her they their of in on at to from by for with about into and or but if so as is are was were be am do does did have has had can could would will should please need want what which who whom when where why how all any some no not'.split(
    ' ',
  ),
);
const HAN = /\p{Script=Han}+/gu;
/** The hit rates that are printed. */
const WITHIN = [1, 5, 10];

/** Reads every `<name>.json` of a folder: `{servers: [{name, tools}], queries: [{query, want: ["server.tool"]}]}`. */
export function readSets(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  if (files.length === 0) throw new BuildError(`there is no set of questions in "${folder}"`);
  return files.sort().map((file) => ({ name: basename(file, '.json'), ...readJson(join(folder, file)) }));
}

/** Splits a text at case and separators, Chinese into letters and pairs, and removes the ending of a plural. */
function wordsOf(text) {
  const letters = (text.match(HAN) ?? []).flatMap((run) =>
    [...run].flatMap((letter, at) => [letter, ...(at > 0 ? [run[at - 1] + letter] : [])]),
  );
  const spaced = text
    .replace(HAN, ' ')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return [
    ...letters,
    ...(spaced ?? []).map((word) => (word.length > 3 ? word.replace(/(?:es|s|ing|ed|e)$/, '') : word)),
  ];
}

/** Returns a ranker without any knowledge: BM25 over names, descriptions and parameters. */
export function plainBm25(servers) {
  const index = new MiniSearch({
    fields: ['name', 'server', 'description', 'parameters'],
    tokenize: wordsOf,
    processTerm: (word) => (STOP.has(word) ? null : word),
    searchOptions: { boost: { name: 2 } },
  });
  index.addAll(
    servers.flatMap(({ name: server, tools }) =>
      tools.map(({ name, description = '', inputSchema }) => {
        const parameters = Object.entries(inputSchema?.properties ?? {}).map(([key, value]) => [
          key,
          value?.description,
        ]);
        return { id: `${server}.${name}`, name, server, description, parameters: parameters.flat().join(' ') };
      }),
    ),
  );
  return (query) => index.search(query).map(({ id, score }) => [id, score]);
}

/** Adds the scores of two lists, each divided by its best. */
export function sumOf(...lists) {
  const total = new Map();
  for (const list of lists)
    for (const [id, score] of list) total.set(id, (total.get(id) ?? 0) + score / (list[0]?.[1] || 1));
  return [...total].sort(([, a], [, b]) => b - a);
}

/** Returns the rank of the first wanted tool for each question, by ranker. `search` returns `[id, score]`, best first. */
export async function ranksOf({ servers, queries }, search) {
  const plain = plainBm25(servers);
  const rows = [];
  for (const { query, want } of queries) {
    const lists = { mcpx: await search(query), plain: plain(query) };
    lists.sum = sumOf(lists.mcpx, lists.plain);
    const rank = (list) => list.findIndex(([id]) => want.includes(id)) + 1;
    rows.push({ query, ...Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, rank(list)])) });
  }
  return rows;
}

/** Returns hit@1, hit@5 and hit@10 of each ranker. */
export function hitsOf(rows) {
  const share = (ranker, most) => rows.filter((row) => row[ranker] > 0 && row[ranker] <= most).length / rows.length;
  return Object.fromEntries(
    ['mcpx', 'plain', 'sum'].map((ranker) => [ranker, WITHIN.map((most) => share(ranker, most))]),
  );
}

/** One line per set and half, with hit@1/5/10 of each ranker. */
export function setTable(results) {
  const cell = (rates) => rates.map((rate) => rate.toFixed(3)).join(' ');
  const lines = results.map(
    ({ name, half, questions, hits }) =>
      `${name.padEnd(24)}${half.padEnd(6)}${String(questions).padStart(9)}  ${Object.values(hits).map(cell).join('   ')}`,
  );
  return [
    `${'hit@1 hit@5 hit@10'.padEnd(30)}questions  ${['mcpx', 'plain BM25', 'sum of both']
      .map((head) => head.padEnd(20))
      .join('')
      .trimEnd()}`,
    ...lines,
  ].join('\n');
}
