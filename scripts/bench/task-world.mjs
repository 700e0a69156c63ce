/** The tasks of npm run bench:tasks and the servers that they are done with (tests/fixtures/tasks), all written for this project. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { at } from '../project.mjs';

const FOLDER = at('tests', 'fixtures', 'tasks');

const readLines = (file) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Servers in alphabetical order: `[{name, instructions, tools}]`. The first line of a file has the instructions, each other line a tool. */
export function readServers() {
  return readdirSync(`${FOLDER}/servers`)
    .sort()
    .map((file) => {
      const [{ instructions }, ...tools] = readLines(`${FOLDER}/servers/${file}`);
      return { name: basename(file, '.jsonl'), instructions, tools };
    });
}

/**
 * Tasks as `{id, say, calls: [{query, tool, arguments, answer, from?, reads?, after?}]}`. `query` is how a user would name this action.
 * `from` says which arguments are a part of an earlier answer: `{"to[0]": "2.email"}`. `reads` are earlier answers that have to be read
 * before this call can be written, `after` are calls that have to be over before it.
 */
export function readTasks() {
  return readLines(`${FOLDER}/tasks.jsonl`);
}

/** The calls that have to be over before this one, as indexes. */
export function neededBy({ from = {}, reads = [], after = [] }) {
  const sources = Object.values(from).map((path) => Number.parseInt(path, 10));
  return [...new Set([...sources, ...reads, ...after])].sort((a, b) => a - b);
}
