/** The questions of `npm run bench:search`, and what it makes of ranks; the measuring itself is not for every test run. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  below,
  groupsOf,
  halfOf,
  isChineseBelow,
  languageOf,
  readQueries,
  summaryOf,
  tableOf,
} from '../../../scripts/bench/search.mjs';
import { hitsOf, ranksOf, setTable } from '../../../scripts/bench/search-sets.mjs';

const ROOT = resolve(import.meta.dirname, '../../..');
const TEXT = readFileSync(join(ROOT, 'tests/fixtures/search/queries.jsonl'), 'utf8');
const QUESTIONS = TEXT.trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { query: string; want: string[] });

interface SearchSet {
  servers: { name: string; tools: { name: string; description: string }[] }[];
  queries: { query: string; want: string[] }[];
}

describe('the questions', () => {
  it('are more than 130, a third of them in Chinese, in two halves, none twice', () => {
    const chinese = QUESTIONS.filter(({ query }) => languageOf(query) === 'Chinese').length;
    const held = QUESTIONS.filter(({ query }) => halfOf(query) === 'held').length;
    expect(QUESTIONS.length).toBeGreaterThan(130);
    expect(chinese / QUESTIONS.length).toBeGreaterThan(1 / 3);
    expect(Math.abs(held / QUESTIONS.length - 0.5)).toBeLessThan(0.1);
    expect(new Set(QUESTIONS.map(({ query }) => query)).size).toBe(QUESTIONS.length);
  });

  it('each want a tool of a server', () => {
    expect(
      QUESTIONS.filter(({ want }) => want.length === 0 || want.some((name) => !/^[\w-]+\.\S+$/.test(name))),
    ).toEqual([]);
  });

  it('are asked where a server can answer them', () => {
    const servers = [{ name: 'everything', tools: [{ name: 'get-sum' }] }];
    const asked = readQueries(TEXT, servers);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.every(({ want }) => want.join() === 'everything.get-sum')).toBe(true);
  });
});

describe('the questions in Chinese about servers in Chinese', () => {
  const { servers, queries }: SearchSet = JSON.parse(
    readFileSync(join(ROOT, 'tests/fixtures/search/sets/chinese.json'), 'utf8'),
  );

  it('are more than 150, none twice, and each wants tools that exist', () => {
    const tools = new Set(servers.flatMap(({ name, tools }) => tools.map((tool) => `${name}.${tool.name}`)));
    expect(queries.length).toBeGreaterThan(150);
    expect(new Set(queries.map(({ query }) => query)).size).toBe(queries.length);
    expect(queries.filter(({ query }) => languageOf(query) !== 'Chinese')).toEqual([]);
    expect(queries.filter(({ want }) => want.length === 0 || want.some((name) => !tools.has(name)))).toEqual([]);
  });

  it('are about tools that are described in Chinese', () => {
    const described = servers.flatMap(({ tools }) => tools.map(({ description }) => description));
    expect(described.filter((text) => languageOf(text) !== 'Chinese')).toEqual([]);
  });
});

describe('sets of questions', () => {
  const servers = [
    { name: 'mail', tools: [{ name: 'send_mail', description: 'Sends a mail.' }, { name: 'list_mails' }] },
    { name: '天气', tools: [{ name: 'now', description: '查询实时天气' }] },
  ];

  it('are ranked by the search, by a plain BM25 and by the sum of both', async () => {
    const queries = [
      { query: 'send a mail', want: ['mail.send_mail'] },
      { query: '天气', want: ['天气.now'] },
      { query: 'xyzzy', want: ['mail.send_mail'] },
    ];
    const rows = await ranksOf({ servers, queries }, async () => [
      ['mail.list_mails', 2],
      ['mail.send_mail', 1],
    ]);
    expect(rows.map(({ mcpx, plain, sum }) => [mcpx, plain, sum])).toEqual([
      [2, 1, 1],
      [0, 1, 2],
      [2, 0, 2],
    ]);
    expect(hitsOf(rows)).toEqual({ mcpx: [0, 2 / 3, 2 / 3], plain: [2 / 3, 2 / 3, 2 / 3], sum: [1 / 3, 1, 1] });
    const line = setTable([{ name: 'own', half: 'all', questions: 3, hits: hitsOf(rows) }]).split('\n')[1];
    expect(line).toMatch(/^own +all +3 +0\.000 0\.667 0\.667 +0\.667 0\.667 0\.667 +0\.333 1\.000 1\.000$/);
  });

  it('fail where Chinese is below 0.9 and below the plain BM25 + 0.03', () => {
    const result = (mcpx: number, plain: number) => [
      {
        name: 'chinese',
        half: 'all',
        questions: 1,
        hits: { mcpx: [0, mcpx, 1], plain: [0, plain, 1], sum: [0, 0, 0] },
      },
    ];
    expect([isChineseBelow(result(0.9, 0.99)), isChineseBelow(result(0.8, 0.77))]).toEqual([false, false]);
    expect([isChineseBelow(result(0.89, 0.9)), isChineseBelow([])]).toEqual([true, false]);
  });
});

describe('npm run bench:search', () => {
  const row = (query: string, rank: number) => ({ query, rank });

  it('counts what is first, among the first five, and where', () => {
    const rows = [row('a', 1), row('b', 2), row('c', 6), row('d', 0)];
    expect(summaryOf(rows)).toEqual({ questions: 4, 'recall@1': 0.25, 'recall@5': 0.5, MRR: (1 + 1 / 2 + 1 / 6) / 4 });
    expect(summaryOf([])).toMatchObject({ questions: 0, 'recall@5': undefined });
  });

  it('fails for a language below its bar, and not for one without questions', () => {
    expect(below(groupsOf([row('a', 1)]))).toEqual([]);
    expect(below(groupsOf([row('a', 0), row('文件', 5)]))).toEqual(['English']);
    expect(below(groupsOf([row('a', 5), row('文件', 6)]))).toEqual(['Chinese']);
  });

  it('prints one line for each group, with the bars', () => {
    const lines = tableOf(groupsOf([row('a', 1), row('文件', 6)])).split('\n');
    expect(lines).toHaveLength(7);
    expect(lines[1]).toMatch(/^English +1 +1\.000 +1\.000 +1\.000 +recall@5 at least 0\.90: ok$/);
    expect(lines[4]).toMatch(/^Chinese +1 +0\.000 +0\.000 +0\.167 +recall@5 at least 0\.75: below$/);
  });
});
