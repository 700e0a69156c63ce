/** One value is set or removed in a JSON, TOML or YAML text, and every other byte stays. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editText, loadEditor } from '../../src/client-config/edit-text.ts';
import type { Change, Format } from '../../src/client-config/text-editor.ts';

const ENTRY = { command: '/opt/mcpx', args: ['serve'] };

async function edit(format: Format, text: string, ...changes: Change[]): Promise<string> {
  return editText(await loadEditor(format), text, { file: `file.${format}`, changes });
}

const add = (...path: (string | number)[]): Change => ({ kind: 'set', path, value: ENTRY });
const remove = (...path: (string | number)[]): Change => ({ kind: 'remove', path });

/** Expects that the lines of one text appear in the other one, in this order. */
function expectKept(before: string, after: string): void {
  const lines = after.split('\n').map((line) => line.replace(/,(?=\s*(?:\/\/|\/\*|$))/, ''));
  let at = 0;
  for (const line of before.split('\n').map((one) => one.replace(/,(?=\s*(?:\/\/|\/\*|$))/, ''))) {
    const found = lines.indexOf(line, at);
    expect(found, `the line ${JSON.stringify(line)} is kept`).toBeGreaterThanOrEqual(at);
    at = found + 1;
  }
}

const CODEX = `# my settings
model = "gpt-5"   # fast

[mcp_servers.github]   # the first
command = "npx"
args = ["-y",   "@x/github"] # odd
  [mcp_servers.github.env]
  TOKEN = "a#b"

# about files
[mcp_servers.files]
command = 'C:\\tools\\files.exe'
startup_timeout_sec = 1_0
note = """
[mcp_servers.fake]
"""

[projects."/home/me"]
trust_level = "trusted"
`;

const GOOSE = `# Goose
GOOSE_MODEL: gpt   # model
extensions:
    developer:
        type: builtin     # own
        enabled: true
    # a comment
    "files":
        type: stdio
        cmd: npx
        args:
        - -y
        - "@x/files"
        envs: {}
        timeout: 300

GOOSE_MODE: auto
`;

const CONTINUE = `name: mine
mcpServers:
  - name: files
    command: npx
    args: [-y, "@x/files"] # list
  # second
  - name: web
    url: https://example.com/mcp
rules: []
`;

describe('TOML', () => {
  test('a server is added after the last one, and removed without a trace', async () => {
    const after = await edit('toml', CODEX, add('mcp_servers', 'mcpx'));
    expectKept(CODEX, after);
    expect(after).toContain('"""\n\n[mcp_servers.mcpx]\ncommand = "/opt/mcpx"\nargs = ["serve"]\n\n[projects.');
    expect(await edit('toml', after, remove('mcp_servers', 'mcpx'))).toBe(CODEX);
  });

  test('a server is removed with its subtables, and comments of others stay', async () => {
    const after = await edit('toml', CODEX, remove('mcp_servers', 'github'));
    expect(after).toBe(CODEX.replace(/\[mcp_servers\.github\][\s\S]*?TOKEN = "a#b"\n\n/, ''));
  });

  test.each([
    ['', '[mcp_servers.mcpx]\ncommand = "/opt/mcpx"\nargs = ["serve"]\n'],
    ['a = 1', 'a = 1\n\n[mcp_servers.mcpx]\ncommand = "/opt/mcpx"\nargs = ["serve"]\n'],
    [
      'mcp_servers = { a = { command = "x" } }\n',
      'mcp_servers = { a = { command = "x" }, mcpx = { command = "/opt/mcpx", args = ["serve"] } }\n',
    ],
    ['mcp_servers = {}\n', 'mcp_servers = { mcpx = { command = "/opt/mcpx", args = ["serve"] } }\n'],
    [
      'mcp_servers.a.command = "x"\nmodel = "y"\n[t]\n',
      'mcp_servers.a.command = "x"\nmodel = "y"\n\n[mcp_servers.mcpx]\ncommand = "/opt/mcpx"\nargs = ["serve"]\n\n[t]\n',
    ],
    [
      '[mcp_servers]\na.command = "x"',
      '[mcp_servers]\na.command = "x"\n\n[mcp_servers.mcpx]\ncommand = "/opt/mcpx"\nargs = ["serve"]\n',
    ],
  ])('a server is added to %j', async (before, after) => {
    expect(await edit('toml', before, add('mcp_servers', 'mcpx'))).toBe(after);
  });

  test.each([
    ['mcp_servers = { a = { command = "x" }, b = { command = "y" } }\n', 'mcp_servers = { b = { command = "y" } }\n'],
    ['mcp_servers = { b = { command = "y" }, a = { command = "x" } }\n', 'mcp_servers = { b = { command = "y" } }\n'],
    ['[mcp_servers]\na = { command = "x" } # one\nb.command = "y"\n', '[mcp_servers]\nb.command = "y"\n'],
    [
      '[mcp_servers]\r\n"a".command = "x"\r\na."env".T = "1"\r\nb.command = "y"\r\n',
      '[mcp_servers]\r\nb.command = "y"\r\n',
    ],
  ])('a server is removed from %j', async (before, after) => {
    expect(await edit('toml', before, remove('mcp_servers', 'a'))).toBe(after);
  });

  test('CRLF stays CRLF', async () => {
    const after = await edit('toml', CODEX.replaceAll('\n', '\r\n'), add('mcp_servers', 'mcpx'));
    expect(after.match(/(?<!\r)\n/)).toBeNull();
  });

  test('any string survives', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.string(), async (key, value) => {
        const change: Change = {
          kind: 'set',
          path: ['mcp_servers', key],
          value: { command: value, env: { [key]: value } },
        };
        const after = await edit('toml', CODEX, change);
        expectKept(CODEX, after);
        expect(await edit('toml', after, remove('mcp_servers', key))).toBe(CODEX);
      }),
      { numRuns: 100 },
    );
  });
});

describe('YAML', () => {
  test('an extension is added after the last one, and removed without a trace', async () => {
    const after = await edit('yaml', GOOSE, add('extensions', 'mcpx'));
    expectKept(GOOSE, after);
    expect(after).toContain(
      'timeout: 300\n    mcpx:\n      command: /opt/mcpx\n      args:\n        - serve\n\nGOOSE_MODE',
    );
    expect(await edit('yaml', after, remove('extensions', 'mcpx'))).toBe(GOOSE);
  });

  test('an entry is removed with its lines, and comments of others stay', async () => {
    const after = await edit('yaml', GOOSE, remove('extensions', 'developer'));
    expect(after).toBe(GOOSE.replace(/ {4}developer:\n.*\n.*true\n/, ''));
    expect(await edit('yaml', GOOSE, remove('extensions', 'files'))).toBe(
      GOOSE.replace(/ {4}"files":[\s\S]*?300\n/, ''),
    );
  });

  test('an item is added to a list and removed from it', async () => {
    const named: Change = { kind: 'set', path: ['mcpServers', 2], value: { name: 'mcpx', ...ENTRY } };
    const after = await edit('yaml', CONTINUE, named);
    expect(after).toContain('mcp\n  - name: mcpx\n    command: /opt/mcpx\n    args:\n      - serve\nrules');
    expect(await edit('yaml', after, remove('mcpServers', 2))).toBe(CONTINUE);
    expect(await edit('yaml', CONTINUE, remove('mcpServers', 0))).toBe(
      CONTINUE.replace(/ {2}- name: files\n.*\n.*\n/, ''),
    );
  });

  test.each([
    ['', 'extensions:\n  mcpx:\n    command: /opt/mcpx\n    args:\n      - serve\n'],
    ['# only this', '# only this\nextensions:\n  mcpx:\n    command: /opt/mcpx\n    args:\n      - serve\n'],
    ['extensions:\na: 1\n', 'extensions:\n  mcpx:\n    command: /opt/mcpx\n    args:\n      - serve\na: 1\n'],
    [
      'extensions: {} # none\na: 1\n',
      'extensions:\n  mcpx:\n    command: /opt/mcpx\n    args:\n      - serve # none\na: 1\n',
    ],
    [
      'extensions: { a: { type: x } }\n',
      'extensions: { a: { type: x }, "mcpx": {"command":"/opt/mcpx","args":["serve"]} }\n',
    ],
    [
      'extensions:\r\n  a:\r\n    type: x',
      'extensions:\r\n  a:\r\n    type: x\r\n  mcpx:\r\n    command: /opt/mcpx\r\n    args:\r\n      - serve\r\n',
    ],
  ])('an extension is added to %j', async (before, after) => {
    expect(await edit('yaml', before, add('extensions', 'mcpx'))).toBe(after);
  });

  test.each([
    ['extensions:\n  a:\n    type: x\nb: 1\n', 'extensions: {}\nb: 1\n'],
    ['extensions:\n  # note\n  a:\n    type: x\n', 'extensions: {}\n  # note\n'],
    ['extensions: {a: {type: x}, b: {type: y}}\n', 'extensions: {b: {type: y}}\n'],
    [
      'extensions:\n  b: {type: y}\n  a:\n    text: |\n      # long\n\n      text\n  # tail\n',
      'extensions:\n  b: {type: y}\n  # tail\n',
    ],
  ])('the entry "a" is removed from %j', async (before, after) => {
    expect(await edit('yaml', before, remove('extensions', 'a'))).toBe(after);
  });

  test('any string survives', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string(), async (key, value) => {
        fc.pre(!['developer', 'files'].includes(key));
        const change: Change = {
          kind: 'set',
          path: ['extensions', key],
          value: { cmd: value, args: [value], envs: { [key]: value } },
        };
        const after = await edit('yaml', GOOSE, change);
        expectKept(GOOSE, after);
        expect(await edit('yaml', after, remove('extensions', key))).toBe(GOOSE);
      }),
      { numRuns: 100 },
    );
  });
});

describe('JSON', () => {
  test.each([
    ['{\n\t"mcpServers": {\n\t\t"a": {}, // one\n\t\t// end\n\t},\n}', '\t\t"a": {}, // one\n\t\t"mcpx": {'],
    ['{\r\n   "a": 1\r\n}\r\n', '   "a": 1,\r\n   "mcpServers": {\r\n      "mcpx": {\r\n         "command"'],
    ['{"mcpServers":{"a":{}}}', '{"mcpServers":{"a":{}, "mcpx": {"command":"/opt/mcpx","args":["serve"]}}}'],
    ['', '{\n  "mcpServers": {\n    "mcpx": {\n      "command": "/opt/mcpx",\n      "args": ["serve"]\n'],
    ['{"mcpServers": null}', '"mcpx"'],
  ])('a server is added to %j', async (before, part) => {
    const after = await edit('json', before, add('mcpServers', 'mcpx'));
    expect(after).toContain(part);
    if (before.includes('"a": {}')) expectKept(before, after);
  });

  test('any object in any indentation keeps its lines', async () => {
    const indents = fc.constantFrom('  ', '\t', '   ', '        ');
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), indents, async (others, indent) => {
        const before = JSON.stringify({ first: others, mcpServers: { a: { command: 'x' } }, last: 1 }, null, indent);
        const after = await edit('json', before, add('mcpServers', 'mcpx'));
        expectKept(before, after);
        expect(await edit('json', after, remove('mcpServers', 'mcpx'))).toBe(before);
      }),
      { numRuns: 100 },
    );
  });
});

test.each([
  ['toml', 'a = "secret-value\n'],
  ['yaml', 'a: "secret-value\nb: [\n'],
  ['json', '{"a": secret-value'],
] as const)('a mistake in %s is reported with its place and without the text of the file', async (format, text) => {
  const failed = await edit(format, text, add('x', 'y')).then(
    () => undefined,
    (error: Error) => error.message,
  );
  expect(failed).toMatch(new RegExp(`file\\.${format}:\\d+:\\d+`));
  expect(failed).not.toContain('secret-value');
});
