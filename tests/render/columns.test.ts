/** Tables, lists and lines of text for a terminal. */
import { describe, expect, test } from 'vitest';
import { cutToWidth, definitionList, tableText, widthOf, wrapText } from '../../src/render/columns.ts';

describe('the width of a text', () => {
  test.each([
    ['abc', 3],
    ['数据库', 6],
    ['\u001b[1mab\u001b[22m', 2],
    ['é', 1],
    ['', 0],
  ])('%j', (text, width) => expect(widthOf(text)).toBe(width));

  test.each([
    ['abcdef', 4, 'abc…'],
    ['abc', 3, 'abc'],
    ['数据库表', 5, '数据…'],
    ['ab cdef', 4, 'ab…'],
  ])('%j is cut to %d columns', (text, max, cut) => expect(cutToWidth(text, max)).toBe(cut));
});

describe('lines', () => {
  test('end between words, and a long word stays whole', () => {
    expect(wrapText('one two three', 8)).toEqual(['one two', 'three']);
    expect(wrapText('see https://example.com/a/long/path now', 10)).toEqual([
      'see',
      'https://example.com/a/long/path',
      'now',
    ]);
  });

  test('end between Chinese letters, but not before a comma or after an opening mark', () => {
    expect(wrapText('列出所有服务器的工具', 10)).toEqual(['列出所有服', '务器的工具']);
    expect(wrapText('列出服务器，或搜索', 10)).toEqual(['列出服务', '器，或搜索']);
    expect(wrapText('一二三四“五”', 10)).toEqual(['一二三四', '“五”']);
  });

  test('keep an English word within Chinese text whole', () => {
    expect(wrapText('运行 mcpx config validate 检查', 12)).toEqual(['运行 mcpx', 'config', 'validate 检', '查']);
  });
});

describe('a table', () => {
  const rows = [
    ['files.read', 'a description that is quite long', 'x'],
    ['数据.写', 'short', 'y'],
  ];

  test('is complete without a width', () => {
    expect(tableText(rows)).toBe(
      'files.read  a description that is quite long  x\n数据.写     short                             y',
    );
  });

  test('fits into the width: the widest column is shortened, the first one is kept', () => {
    const lines = tableText(rows, 36).split('\n');
    expect(lines[0]).toBe('files.read  a description that i…  x');
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(36);
  });

  test('puts names on lines of their own if they leave no room, and keeps them complete', () => {
    expect(tableText([['a'.repeat(50), 'b'.repeat(50)]], 20)).toBe(`${'a'.repeat(50)}\n  ${'b'.repeat(17)}…`);
    const rows = [['a-server-with-a-long-name', 'stdio', 'ready', '3 tools', 'node /srv/server.mjs --verbose']];
    expect(tableText(rows, 40).split('\n')).toEqual([
      'a-server-with-a-long-name',
      '  stdio  ready  3 tools  node /srv/serv…',
    ]);
  });
});

test('the terms of a definition take at most half of a narrow terminal', () => {
  const rows = [['--move-secrets-of-clients', 'puts literal secrets into a file']] as const;
  expect(definitionList(rows, { width: 40, column: 30 }).split('\n')).toEqual([
    '  --move-secrets-of-clients',
    '                    puts literal secrets',
    '                    into a file',
  ]);
});

test('a list of definitions aligns its texts, and a long term has a line of its own', () => {
  const rows = [
    ['--json', 'print JSON instead of text for people'],
    ['a-very-long-term-that-takes-a-line', 'text'],
  ] as const;
  expect(definitionList(rows, { width: 40, column: 14 })).toBe(
    [
      '  --json      print JSON instead of text',
      '              for people',
      '  a-very-long-term-that-takes-a-line',
      '              text',
    ].join('\n'),
  );
});
