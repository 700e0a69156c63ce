/** Reading JSONC: encodings, comments, syntax errors in words, and names that are only data. */
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseSource, positionOf, readSource } from '../../src/config/jsonc-file.ts';
import { createHome, failure } from './world.ts';

test.each([
  ['comments and trailing commas', '{ // a\n "a": [1, 2,], /* b */ }', 'utf8'],
  ['a UTF-8 byte order mark', '\uFEFF{"a": [1, 2]}', 'utf8'],
  ['UTF-16 with a byte order mark, as PowerShell writes it', '\uFEFF{"a": [1, 2]}', 'utf16le'],
  ['Windows line ends', '{\r\n"a":\r\n[1, 2]}\r\n', 'utf8'],
] as const)('%s are read', (_what, text, encoding) => {
  const home = createHome();
  writeFileSync(home.path('c.json'), text, encoding);
  expect(readSource(home.path('c.json')).value).toEqual({ a: [1, 2] });
});

describe('a syntax error is told in words', () => {
  test.each([
    ['{"a" 1}', 'a colon is missing after the key', '1:5'],
    ['{"a": 1,, "b": 2}', 'a key in double quotes was expected', '1:9'],
    ['{"a": }', 'a value was expected', '1:7'],
    ['{"a": 1}}', 'there is more text after the end of the config', '1:9'],
    ['{"a": "abc\n}', 'the text is not closed', '1:7'],
    ['{"a": /* x', 'the comment is not closed', '1:7'],
    ['{"a": "\t"}', 'the text contains a control character', '1:7'],
    ['[1', 'a "]" is missing', '1:3'],
    ['{"a": [1}', 'a "]" is missing', '1:9'],
    ['{"a": {"b": 1]}', 'a "}" is missing', '1:14'],
    ['{"a": "\\x"}', 'a backslash inside text must be doubled', '1:7'],
    ['{"a": 1 /* , */\n\n "b": 2}', 'a comma is missing', '1:8'],
    ['{"a": "//" "b": 2}', 'a comma is missing', '1:11'],
    ['', 'the file is empty', '1:1'],
    ['{“a”: 1}', '"“a”" is not valid here', '1:2'],
  ])('%j: %s', (text, message, place) => {
    const error = failure(() => parseSource('/c.json', text));
    expect(error.message.split('\n').slice(0, 2)).toEqual([message, `  at /c.json:${place}`]);
    expect(error.hint).toBeTruthy();
  });

  test.each([
    ['{"a": True}', 'write true'],
    ['{"a": .5}', 'write 0.5'],
    ["{'a': 1}", 'keys and text need straight double quotes'],
  ])('%s: %s', (text, hint) => {
    expect(failure(() => parseSource('/c.json', text)).hint).toBe(hint);
  });
});

describe('a file of TOML is told as such', () => {
  test.each([
    ['a table', '[mcp_servers.github]\ncommand = "x"\n'],
    ['a quoted table and a comment', '\n# mine\n[mcp_servers."my files"] # more\r\n'],
    ['a list of tables', '[[servers]]\n'],
    ['a key', 'model="some"\n[mcp_servers.github]\n'],
  ])('%s', (_what, text) => {
    const error = failure(() => parseSource('/config.toml', text));
    expect(error.message).toBe('config file "/config.toml" is TOML, and mcpx reads JSON');
    expect(error.hint).toContain('{"mcpServers": {"<name>": {"command": "…", "args": ["…"]}}}');
  });

  test.each(['[1', '[true, fals]', '[a, b]', '{"a" = 1}', '# only a comment', 'nothing of the kind'])(
    'not %j',
    (text) => {
      expect(failure(() => parseSource('/c.json', text)).message).not.toContain('TOML');
    },
  );

  test('JSON in a file of that name is read', () => {
    expect(parseSource('/config.toml', '{"a": 1}').value).toEqual({ a: 1 });
  });
});

describe('names are data', () => {
  test('__proto__ is a key like any other', () => {
    const { value } = parseSource('/c.json', '{"__proto__": {"polluted": true}, "constructor": 1}');
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('a server called constructor or toString is a server', () => {
    const home = createHome();
    const file = home.write('c.json', { mcpServers: { constructor: { command: 'a' }, toString: { command: 'b' } } });
    const config = home.load({ files: [file], strict: true });
    expect(config.profiles[0]?.servers.map(({ name }) => name)).toEqual(['constructor', 'toString']);
  });

  test('inherited names are no settings', () => {
    const home = createHome();
    expect(home.load({ files: [home.write('c.json', { toString: 1, hasOwnProperty: 2 })] }).warnings).toHaveLength(2);
  });
});

describe('places', () => {
  const source = parseSource('/c.json', '{\n\t"a": {"b": [10, {"c": 1}]},\n\t"d": "x"\n}');

  test.each([
    [['d'], 'value', 3, 7],
    [['d'], 'key', 3, 2],
    [['a'], 'value', 2, 2],
    [['a', 'b', 0], 'value', 2, 14],
    [['a', 'b', 1, 'c'], 'key', 2, 19],
    [['a', 'nothing', 'here'], 'value', 2, 2],
    [['nothing'], 'value', 1, 1],
  ] as const)('%j (%s) is at %i:%i', (path, part, line, column) => {
    expect(positionOf(source, [...path], part)).toMatchObject({ line, column });
  });
});
