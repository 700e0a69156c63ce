/**
 * npm run shape: numbers that tell how easily the source is read, each with its bar where it has one. Exits with 1 over a bar.
 *   --verbose   also lists what is counted
 *   --json      numbers instead of the table
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { at, isMain, runMain } from '../project.mjs';
import { ensureInstalled } from '../setup.mjs';

/** Lines from which a function is called long. */
const LONG_FUNCTION = 80;

const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? 0;

/** Rows of the table: `value` with its `bar` (the most that is allowed), and the `found` things that it counts. */
export function rowsOf({ sources, call, mapLines }, { lacksSubject, duplicateNames, opaqueNames, importCycles }) {
  const lines = sources.map((source) => source.lines);
  const functions = sources.flatMap((source) => source.functions);
  const longFunctions = sources.flatMap(({ path, functions: all }) =>
    all.filter((length) => length > LONG_FUNCTION).map((length) => `${path}: ${length} lines`),
  );
  const comments = sources.flatMap(({ path, comments: all }) => all.map((sentence) => ({ path, sentence })));
  const subjectless = comments.filter(({ sentence }) => lacksSubject(sentence));
  const duplicates = duplicateNames(sources);
  const opaque = opaqueNames(sources);
  const cycles = importCycles(sources);
  return [
    { name: 'files', value: sources.length },
    { name: 'lines', value: lines.reduce((sum, one) => sum + one, 0) },
    { name: 'lines of a file, median', value: quantile(lines, 0.5) },
    { name: 'lines of a file, p90', value: quantile(lines, 0.9) },
    { name: 'lines of a file, most', value: Math.max(...lines), bar: 300 },
    { name: 'lines of a function, p90', value: quantile(functions, 0.9), bar: 20 },
    { name: `functions over ${LONG_FUNCTION} lines`, value: longFunctions.length, bar: 5, found: longFunctions },
    { name: 'comment sentences', value: comments.length },
    {
      name: 'comment sentences without a subject',
      ...{ value: subjectless.length, bar: 50 },
      found: subjectless.map(({ path, sentence }) => `${path}: ${sentence}`),
    },
    { name: 'file names that occur twice', value: duplicates.length, bar: 0, found: duplicates },
    { name: 'opaque names', value: opaque.length, bar: 0, found: opaque },
    {
      name: 'files in the largest import cycle, types included',
      ...{ value: cycles[0]?.length ?? 0, bar: 3 },
      found: cycles.map((group) => `${group.length}: ${group.join(', ')}`),
    },
    { name: 'files that one warm call touches', value: call.files.length, bar: 60, found: call.files },
    { name: 'synchronous frames of one warm call', value: call.frames.length, bar: 24, found: call.frames },
    { name: 'lines of ARCHITECTURE.md', value: mapLines, bar: 200 },
  ];
}

export const isOver = ({ value, bar }) => bar !== undefined && value > bar;

export function table(rows, { verbose = false } = {}) {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows
    .flatMap((row) => {
      const bar = row.bar === undefined ? '' : `at most ${row.bar}${isOver(row) ? ', over' : ''}`;
      const found = verbose && row.found?.length > 0 ? row.found.map((one) => `    ${one}`) : [];
      return [`${row.name.padEnd(width)}  ${`${row.value}`.padStart(7)}  ${bar}`.trimEnd(), ...found];
    })
    .join('\n');
}

async function main(args) {
  const { values } = parseArgs({ args, options: { verbose: { type: 'boolean' }, json: { type: 'boolean' } } });
  await ensureInstalled();
  const analysis = await import('./source.mjs');
  const { measureCall } = await import('./call.mjs');
  const sources = analysis.readSources(at('src'));
  const mapLines = readFileSync(at('ARCHITECTURE.md'), 'utf8').split('\n').length - 1;
  const rows = rowsOf({ sources, call: await measureCall(), mapLines }, analysis);
  const text = values.json ? JSON.stringify(rows, null, 2) : table(rows, values);
  process.stdout.write(`${text}\n`);
  return rows.some(isOver) ? 1 : 0;
}

if (isMain(import.meta.url)) await runMain(main);
