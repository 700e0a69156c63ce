/** Names of servers, as they are written and as a part of other names. */
import { describe, expect, test } from 'vitest';
import { fileNameOf, isServerName, nameKey, serverName } from '../../src/config/server-names.ts';

test.each(['github', '文件系统', 'My GitHub!', 'Café', '数据库-1', 'a:b', '_x', '名'.repeat(64)])(
  '%j is a name',
  (name) => {
    expect(isServerName(name)).toBe(true);
    expect(serverName(name)).toEqual({ name });
  },
);

test.each([
  ['com.example/docs', 'com-example-docs'],
  ['a\\b', 'a-b'],
  [' 文件 ', '文件'],
  ['-rf', 'rf'],
  ['__proto__', 'proto__'],
  ['文\u200b件', '文件'],
  ['文\n件', '文-件'],
  ['文\u0007件', '文件'],
  ['a\ud83d', 'a'],
  ['名'.repeat(65), '名'.repeat(64)],
  ['...', 'server-2zi049'],
])('%j becomes %j', (title, name) => {
  expect(isServerName(title)).toBe(false);
  expect(serverName(title)).toEqual({ name, title });
  expect(isServerName(name)).toBe(true);
});

test('the same letters are the same name, however they are encoded', () => {
  expect(serverName('Cafe\u0301')).toEqual({ name: 'Café' });
  expect(nameKey('CAFE\u0301')).toBe(nameKey('café'));
});

describe('a file name', () => {
  test.each(['github', '文件系统', 'Café'])('is the name %j itself where every system can hold it', (name) => {
    expect(fileNameOf(name)).toBe(name);
  });

  test('holds nothing that a system forbids, and is another one for every name', () => {
    const names = ['a:b', 'a?b', 'a b', 'a-b', '"*"', '|', '名 称'];
    const files = names.map(fileNameOf);
    expect(new Set(files).size).toBe(names.length);
    for (const file of files) expect(file).toMatch(/^[\p{L}\p{N}_-]+$/u);
  });
});
