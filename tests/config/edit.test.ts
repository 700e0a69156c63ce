/** Servers that are added, changed and removed in a config file of any shape, with everything else as it was. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { editServer, type ServerEdit, writeEdit } from '../../src/config/edit.ts';
import { loadConfig } from '../../src/config/load.ts';
import { removeAt } from '../../src/config/remove.ts';

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-edit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'config.json');
  writeFileSync(file, text, { mode: 0o640 });
  return file;
}

const load = (file: string) => loadConfig({ files: [file], env: {} }).config;
const check = (text: string, edit: ServerEdit) => editServer(load(fileOf(text)), edit).after;

const COMMENTED = `{
  // my servers
  "mcpServers": {
    "one": { "url": "http://localhost:1/mcp" }, // the first
    /* two */
    "two": {
      "url": "http://localhost:2/mcp"
    }
  },
  "x-note": 1
}
`;

test('a server is added at the end, in the indentation of the file', () => {
  const text = check(COMMENTED, { kind: 'add', name: 'three', entry: { url: 'http://localhost:3/mcp' } });
  expect(text).toContain('    },\n    "three": {\n      "url": "http://localhost:3/mcp"\n    }\n  },');
  for (const comment of ['// my servers', '// the first', '/* two */', '"x-note": 1']) expect(text).toContain(comment);
});

test('fields are set, replaced and removed; the rest stays', () => {
  const text = check(COMMENTED, {
    kind: 'change',
    name: 'TWO',
    fields: { disabled: true, url: 'http://localhost:9/' },
  });
  expect(text).toContain('"two": {\n      "url": "http://localhost:9/",\n      "disabled": true\n    }');
  const again = check(text, { kind: 'change', name: 'two', fields: { disabled: null } });
  expect(again).toBe(COMMENTED.replace('localhost:2/mcp', 'localhost:9/'));
});

test.each<[string, BufferEncoding]>([
  ['UTF-8 with a byte order mark', 'utf8'],
  ['UTF-16', 'utf16le'],
])('a file in %s stays so, and so does its copy', (_name, encoding) => {
  const bytes = Buffer.from(`\uFEFF${COMMENTED.replaceAll('\n', '\r\n')}`, encoding);
  const file = fileOf('');
  writeFileSync(file, bytes);
  const edited = editServer(load(file), { kind: 'change', name: 'two', fields: { disabled: true } });
  writeEdit(edited);
  expect(readFileSync(file, encoding)).toBe(`\uFEFF${edited.after}`);
  expect(readFileSync(`${file}.bak`)).toEqual(bytes);
});

test('a server is removed with its own lines, and comments of others stay', () => {
  expect(check(COMMENTED, { kind: 'remove', name: 'two' })).toBe(`{
  // my servers
  "mcpServers": {
    "one": { "url": "http://localhost:1/mcp" } // the first
    /* two */
  },
  "x-note": 1
}
`);
  expect(check(COMMENTED, { kind: 'remove', name: 'one' })).toBe(`{
  // my servers
  "mcpServers": {
    /* two */
    "two": {
      "url": "http://localhost:2/mcp"
    }
  },
  "x-note": 1
}
`);
});

test.each([
  ['{"a":1,"b":2,"c":3}', ['b'], '{"a":1,"c":3}'],
  ['{"a":1,"b":2}', ['b'], '{"a":1}'],
  ['{"a":1}', ['a'], '{}'],
  ['{"a":1,"b":2,}', ['b'], '{"a":1,}'],
  ['{"a":1 /* , */ , "b":2}', ['b'], '{"a":1 /* , */ }'],
  ['[1, 2, 3]', [1], '[1,  3]'],
  ['{"a":1}', ['none'], '{"a":1}'],
  ['{\r\n  "a": 1,\r\n  "b": 2 // x\r\n}', ['b'], '{\r\n  "a": 1\r\n}'],
])('%s without %j', (text, path, rest) => {
  expect(removeAt(text, path)).toBe(rest);
});

test('a server that is removed is taken off the lists of profiles, and nobody else is', () => {
  const text = `{
  "mcpServers": { "one": { "type": "builtin", "builtin": "math" }, "two": { "type": "builtin", "builtin": "time" } },
  "profiles": {
    "a": { "servers": ["One", /* both */ "two"] }, // first
    "b": { "servers": ["two"] },
    "c": { "servers": ["one"] },
    "d": { "mcpServers": { "one": { "type": "builtin", "builtin": "time" } }, "servers": ["*"] }
  }
}
`;
  const after = check(text, { kind: 'remove', name: 'one' });
  const { profiles } = load(fileOf(after));
  expect(profiles.map(({ name, servers }) => [name, servers.map((spec) => spec.name)])).toEqual([
    ['a', ['two']],
    ['b', ['two']],
    ['c', []],
    ['d', ['two', 'one']],
  ]);
  for (const comment of ['/* both */', '// first']) expect(after).toContain(comment);
});

test('whatever is taken out of an object, the rest is as it was', () => {
  const key = fc.stringMatching(/^[a-z]{1,3}$/);
  fc.assert(
    fc.property(
      fc.dictionary(key, fc.jsonValue(), { minKeys: 1 }),
      fc.nat(),
      fc.constantFrom(0, 2),
      (value, pick, indent) => {
        const keys = Object.keys(value);
        const gone = keys[pick % keys.length] ?? '';
        const { [gone]: _, ...rest } = value;
        expect(JSON.parse(removeAt(JSON.stringify(value, null, indent), [gone]))).toEqual(
          JSON.parse(JSON.stringify(rest)),
        );
      },
    ),
  );
});

test.each<[shape: string, text: string, there: string]>([
  ['an empty map', '{"mcpServers": {}}', '"mcpServers": {"new"'],
  ['no map at all', '{}', '"mcpServers": {'],
  ['VS Code', '{"servers": {"a": {"url": "http://localhost:1/"}}}', '"servers": {"a"'],
  ['a list by name', '{"mcp_servers": [{"name": "a", "url": "http://localhost:1/"}]}', '{"name":"new"'],
  ['a list by id', '{"servers": [{"id": "a", "command": ["x"]}]}', '{"id":"new"'],
  ['a bare map', '{"a": {"url": "http://localhost:1/"}}', '"new":'],
])('%s takes another server and is read again', (_, text, there) => {
  const file = fileOf(text);
  const entry = text.includes('"id"') ? { command: ['y'] } : { url: 'http://localhost:2/' };
  const edited = editServer(load(file), { kind: 'add', name: 'new', entry });
  expect(edited.after.replace(/\s+/g, '')).toContain(there.replace(/\s+/g, ''));
  writeEdit(edited);
  expect(load(file).profiles[0]?.servers.map(({ name }) => name)).toContain('new');
});

test('what cannot be done is said', () => {
  const add = { kind: 'add', name: 'One', entry: {} } as const;
  expect(() => check(COMMENTED, add)).toThrow('there is a server "One" already');
  expect(() => check(COMMENTED, { kind: 'remove', name: 'none' })).toThrow('no server is called "none"');
  expect(() => editServer({ files: [], profiles: [] }, add)).toThrow('there is no config file');
  const twice = {
    profiles: {
      a: { mcpServers: { s: { url: 'http://localhost:1/' } } },
      b: { mcpServers: { s: { url: 'http://localhost:2/' } } },
    },
  };
  expect(() => check(JSON.stringify(twice), { kind: 'remove', name: 's' })).toThrow(/in several places: profiles\.a/);
});

test('the old text stays beside the new one, the mode is kept, and a file that changed meanwhile is left alone', () => {
  const file = fileOf(COMMENTED);
  const edited = editServer(load(file), { kind: 'remove', name: 'one' });
  writeEdit(edited);
  expect(readFileSync(`${file}.bak`, 'utf8')).toBe(COMMENTED);
  expect(readFileSync(file, 'utf8')).toBe(edited.after);
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(() => writeEdit(edited)).toThrow(/was changed by another program/);
  expect(existsSync(`${file}.lock`)).toBe(false);
});
