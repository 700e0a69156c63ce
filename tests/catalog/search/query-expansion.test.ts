/** Questions become concepts with weights, and the requested action. */
import { describe, expect, test } from 'vitest';
import { suits } from '../../../src/catalog/search/intent.ts';
import { createQueryExpansion } from '../../../src/catalog/search/query-expansion.ts';
import { stem } from '../../../src/catalog/search/tokenizer.ts';
import { CHINESE, ONE_WAY_SYNONYMS, STOP_ENGLISH } from '../../../src/catalog/search/word-tables.ts';
import { runAtOnce } from '../../../src/event-loop.ts';

const meanings = runAtOnce(createQueryExpansion());

/** Everything that a question may find, whatever the weight. */
const soughtBy = (question: string) =>
  new Set(meanings.read(question).concepts.flatMap(({ terms }) => terms.flatMap(({ words }) => words)));

describe('a question is read with the words of tools', () => {
  const SOUGHT: [question: string, expected: string[]][] = [
    ['make a folder', ['create', 'directory']],
    ['thumbs up', ['reaction', 'emoji']],
    ['open PRs', ['pull', 'request']],
    ['out of office', ['mailbox', 'settings']],
    ['发送邮件', ['send', 'email', '邮件']],
    ['把这个 PR 合进主干', ['merge', 'pull', 'branch']],
    ['给网页截个图', ['screenshot', 'page']],
    ['read notes.txt', ['file']],
    ['open cat.png', ['image']],
    ['sum up sales.csv', ['table']],
    ['go to https://example.com/a?b', ['url']],
    ['write to tom@example.com', ['email']],
    ['post in #general', ['channel']],
    ['who is @tom', ['user']],
    ['merge that PR', ['merge', 'pull', 'request']],
    ['发封邮件', ['send', 'email']],
    ['公司到机场多少公里', ['distance']],
    ['order the rows', ['sort']],
  ];
  test.each(SOUGHT)('%s', (question, expected) => {
    const sought = soughtBy(question);
    expect(expected.map(stem).filter((word) => !sought.has(word))).toEqual([]);
  });

  test('the typed word weighs most, and what is said twice counts once', () => {
    const { concepts } = meanings.read('folder folder');
    expect(concepts).toHaveLength(1);
    expect(concepts[0]?.terms[0]).toEqual({ words: ['folder'], weight: 1 });
    expect(concepts[0]?.terms.slice(1).every(({ weight }) => weight < 1)).toBe(true);
  });

  /** By the words of the way it is said best. */
  const weightOf = (question: string, word: string) =>
    meanings.read(question).concepts.find(({ terms }) => terms.some(({ words }) => words.includes(stem(word))))?.weight;

  const LESS: [question: string, wanted: string, beside: string][] = [
    ['read the issue from last monday', 'issue', 'monday'],
    ['write the letter 42', 'letter', '42'],
    ['明天的文件', 'file', 'calendar'],
  ];
  test.each(LESS)('%s: "%s" says more than "%s"', (question, wanted, beside) => {
    expect(weightOf(question, wanted)).toBeGreaterThan(weightOf(question, beside) ?? Number.NaN);
  });

  test('a clock in Chinese is no click', () => {
    expect(soughtBy('三点半开会').has('click')).toBe(false);
    expect(soughtBy('点登录按钮').has('click')).toBe(true);
  });

  test('a verb means something else where a question does not begin with it', () => {
    expect(soughtBy('film the page').has('screencast')).toBe(true);
    expect(soughtBy('page of the latest film from Spain').has('start')).toBe(false);
  });

  test('names of files, pages and people are not searched for themselves', () => {
    expect(soughtBy('open budget.xlsx').has('budget')).toBe(false);
    expect(soughtBy('open https://zebra.example.com/zebra').has('zebra')).toBe(false);
  });

  test('stop words alone are taken as they are', () => {
    expect(meanings.read('it').concepts).toHaveLength(1);
    expect(meanings.read('').concepts).toEqual([]);
    expect(meanings.read('？').concepts).toEqual([]);
  });

  test('a long question is bounded', () => {
    const words = Array.from({ length: 5000 }, (_, index) => `word${index}`).join(' ');
    expect(meanings.read(words).concepts.length).toBeLessThanOrEqual(80);
    expect(meanings.read('邮件日历文件'.repeat(1000)).concepts.length).toBeLessThanOrEqual(80);
  });

  const ODD = ['__proto__', 'constructor', 'toString valueOf', '__proto__的文件'];
  test.each(ODD)('%s is a word like others', (question) => {
    expect(meanings.read(question).concepts.length).toBeGreaterThan(0);
  });
});

describe('the tables', () => {
  test('no word of theirs becomes a stop word by its ending', () => {
    const stops = new Set(STOP_ENGLISH);
    const cut = new Set([...stops].map(stem));
    const words = ONE_WAY_SYNONYMS.flatMap((line) => (line.split(' > ')[0] ?? '').split(' '));
    expect(words.filter((word) => cut.has(stem(word)) && !stops.has(word))).toEqual([]);
  });

  const TABLES: [name: string, lines: readonly string[], sign: string][] = [
    ['leads', ONE_WAY_SYNONYMS, ' > '],
    ['Chinese', CHINESE, '='],
  ];
  test.each(TABLES)('%s say each thing once: the second would hide the first', (_, lines, sign) => {
    const said = lines.flatMap((line) => (line.split(sign)[0] ?? '').split(' '));
    expect(said.filter((one, at) => said.indexOf(one) !== at)).toEqual([]);
  });
});

describe('acts', () => {
  const ASKED: [question: string, act: string | undefined][] = [
    ['which files are there', 'read'],
    ['find a file', 'read'],
    ['add a file', 'create'],
    ['book a table', 'create'],
    ['change the file', 'update'],
    ['get rid of a file', 'delete'],
    ['erase a file', 'delete'],
    ['删除文件', 'delete'],
    ['新建文件', 'create'],
    ['查文件', 'read'],
    ['files', undefined],
    ['how do I delete a label', 'delete'],
    ['线上有没有报警', 'read'],
    ['是谁删除了文件', 'read'],
    ['am I free on Monday', 'read'],
  ];
  test.each(ASKED)('%s asks to %s', (question, act) => {
    expect(meanings.read(question).act).toBe(act);
  });

  const DONE: [name: string, sentence: string, act: string | undefined][] = [
    ['create_issue', '', 'create'],
    ['API-get-users', '', 'read'],
    ['listMonitorExecutions', '', 'read'],
    ['delete-contact', '', 'delete'],
    ['tavily_map', 'Searches a site.', 'read'],
    ['echo', 'Echoes back the input.', undefined],
  ];
  test.each(DONE)('%s (%s) does: %s', (name, sentence, act) => {
    expect(meanings.actOf(name, sentence)).toBe(act);
  });

  test('a tool that does what is asked is never worse than one that does not', () => {
    const acts = ['read', 'create', 'update', 'delete'] as const;
    for (const asked of acts)
      for (const done of acts) expect(suits(asked, done)).toBeLessThanOrEqual(suits(asked, asked));
    for (const done of acts) expect(suits(undefined, done)).toBeGreaterThanOrEqual(suits(undefined, 'delete'));
    expect(suits('read', undefined)).toBe(1);
  });
});

describe('servers', () => {
  test('that are well-known have a purpose, others have their name', () => {
    expect(meanings.productOf('my-slack').purpose).toContain('chat');
    expect(meanings.productOf('quux')).toEqual({ own: ['quux'], purpose: [] });
    expect(meanings.productOf('__proto__').purpose).toEqual([]);
  });
});
