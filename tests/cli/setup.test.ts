/** `mcpx setup`, `mcpx import` and `mcpx init` in a home with clients: previews, questions, answers and refusals. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { agree } from '../../src/cli/change-preview.ts';
import { runCli } from '../../src/cli/cli.ts';
import { captureOutput } from '../setup/output.ts';

const shown = captureOutput();
let home = '';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'way-in-'));
  for (const name of ['HOME', 'USERPROFILE']) vi.stubEnv(name, home);
  vi.stubEnv('XDG_CONFIG_HOME', join(home, '.config'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

function write(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const CURSOR =
  '{\n  "mcpServers": {\n    "files": { "command": "npx", "args": ["x"], "env": { "API_KEY": "key-1234567890" } }\n  }\n}\n';

describe('mcpx setup', () => {
  test('lists the clients that it finds, as text and as JSON', async () => {
    write('.cursor/mcp.json', CURSOR);
    write('.codex/config.toml', '');
    expect(await mcpx('setup')).toBe(0);
    expect(shown.stdout).toMatch(
      /^cursor +not connected +1 other server +\S+mcp\.json\ncodex +not connected +no other servers/,
    );
    expect(shown.stderr).toContain('not found: claude-desktop');
    shown.stdout = '';
    expect(await mcpx('setup', '--json')).toBe(0);
    const rows = JSON.parse(shown.stdout);
    expect(rows).toHaveLength(26);
    expect(rows).toContainEqual({
      client: 'cursor',
      title: 'Cursor',
      file: join(home, '.cursor/mcp.json'),
      servers: ['files'],
      connected: false,
    });
  });

  test('connects a client, says what the client still starts itself, and takes it back', async () => {
    const file = write('.cursor/mcp.json', CURSOR);
    expect(await mcpx('setup', 'cursor', '--yes')).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('"mcpx": {');
    expect(shown.stderr).toContain('Cursor still starts itself: files; mcpx init imports them and takes them out');
    expect(shown.stderr).not.toContain('key-1234567890');
    expect(await mcpx('setup', 'cursor')).toBe(0);
    expect(shown.stderr).toContain('Cursor: connected already');
    expect(await mcpx('setup', 'cursor', '--undo')).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(CURSOR);
    expect(await mcpx('setup', 'cursor', '--undo')).toBe(0);
    expect(shown.stderr).toContain('there is nothing to undo');
  });

  test('--replace takes out only servers that mcpx has', async () => {
    const file = write('.cursor/mcp.json', CURSOR.replace('"files"', '"other": { "command": "y" },\n    "files"'));
    write(
      '.mcpx/config.json',
      '{"mcpServers": {"mine": {"command": "npx", "args": ["x"], "env": {"API_KEY": "key-1234567890"}}}}',
    );
    expect(await mcpx('setup', '--all', '--replace', '--yes')).toBe(0);
    const { mcpServers } = JSON.parse(readFileSync(file, 'utf8'));
    expect(Object.keys(mcpServers)).toEqual(['other', 'mcpx']);
    expect(shown.stderr).toContain('Cursor still starts itself: other; mcpx import adds them to mcpx');
  });

  test('a config that was named is part of the entry', async () => {
    const config = write('gateway.json', '{"mcpServers": {}}');
    const file = write('.cursor/mcp.json', '{}');
    await mcpx('setup', 'cursor', '--yes', '--config', config);
    expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers.mcpx.args.slice(-3)).toEqual([
      'serve',
      '--config',
      config,
    ]);
    vi.stubEnv('MCPX_HOME', join(home, 'elsewhere'));
    const other = write('.warp/.mcp.json', '{}');
    await mcpx('setup', 'warp', '--yes');
    expect(JSON.parse(readFileSync(other, 'utf8')).mcpServers.mcpx.env).toEqual({ MCPX_HOME: join(home, 'elsewhere') });
  });

  test.each([
    [['setup', 'claude'], 'there is no client "claude"', 'did you mean "claude-desktop" or "claude-code"?'],
    [['setup', 'coursor'], 'there is no client "coursor"', 'did you mean "cursor"?'],
    [['setup', 'cursor', '--all'], 'name a client or give --all, not both', 'mcpx help setup'],
    [['setup', '--undo'], 'name a client, or give --all', 'clients: claude-desktop, '],
    [['setup', 'cursor', '--scope', 'team'], 'there is no scope "team"', 'use --scope user or --scope project'],
    [['setup', '--all', '--undo', '--scope', 'x'], 'there is no scope "x"', 'use --scope user or --scope project'],
    [
      ['setup', 'claude-desktop', '--scope', 'project'],
      'Claude Desktop has no config file for a project',
      'mcpx setup claude-desktop',
    ],
  ])('%j is a wrong command line', async (words, message, hint) => {
    expect(await mcpx(...words)).toBe(2);
    expect(shown.stderr).toContain(`error: ${message}`);
    expect(shown.stderr).toContain(`hint: ${hint}`);
  });

  test('a damaged journal is named', async () => {
    const file = write('.mcpx/setup/journal.json', '{');
    expect(await mcpx('setup', '--all', '--undo')).toBe(1);
    expect(shown.stderr).toContain(`the journal "${file}" is damaged`);
  });
});

describe('mcpx import', () => {
  test('shows what it would add, adds it once, and leaves the client as it is', async () => {
    const file = write('.cursor/mcp.json', CURSOR);
    expect(await mcpx('import', '--print')).toBe(0);
    expect(shown.stdout).toContain('+    "files": {');
    expect(shown.stdout + shown.stderr).not.toContain('key-1234567890');
    expect(existsSync(join(home, '.mcpx/config.json'))).toBe(false);
    expect(await mcpx('import', 'cursor', '--yes')).toBe(0);
    expect(readFileSync(join(home, '.mcpx/config.json'), 'utf8')).toContain('key-1234567890');
    expect(await mcpx('import', 'cursor', '--yes')).toBe(0);
    expect(shown.stderr).toContain('has all of them already: files');
    expect(readFileSync(file, 'utf8')).toBe(CURSOR);
  });

  test('--json says what would be imported, and from where', async () => {
    const file = write('.cursor/mcp.json', CURSOR);
    expect(await mcpx('import', '--json', '--print', '--move-secrets')).toBe(0);
    expect(JSON.parse(shown.stdout)).toEqual({
      file: join(home, '.mcpx/config.json'),
      imported: [{ name: 'files', from: [{ client: 'cursor', file }] }],
      known: [],
      notes: [],
      secrets: ['MCPX_INPUT_FILES_API_KEY'],
    });
  });

  test.each(['{"mcpServers": {"x": {"env": {"KEY": "hunter2"}}}}', '"x": {"key": "hunter2"}', 'x:\n  key: hunter2'])(
    'the text of a config, %j, is not repeated',
    async (text) => {
      expect(await mcpx('import', text)).toBe(2);
      expect(shown.stderr).toContain('hint: mcpx import - reads it from stdin');
      expect(shown.stderr).not.toContain('hunter2');
    },
  );

  test('a file or client that is not there is named', async () => {
    expect(await mcpx('import', './missing.json')).toBe(6);
    expect(shown.stderr).toContain('missing.json" does not exist');
    expect(await mcpx('import', 'nobody')).toBe(2);
    expect(await mcpx('import')).toBe(0);
    expect(shown.stderr).toContain('the clients have no servers that could be imported');
  });
});

test('mcpx init leaves a config with a mistake, and every client, as they are', async () => {
  const client = write('.cursor/mcp.json', CURSOR);
  const config = write('.mcpx/config.json', '{ "mcpServers": ');
  expect(await mcpx('init', '--yes')).toBe(6);
  expect(readFileSync(client, 'utf8')).toBe(CURSOR);
  expect(readFileSync(config, 'utf8')).toBe('{ "mcpServers": ');
});

describe('the question before a change', () => {
  const ask = (typed: string, isTTY = true) => {
    const [input, output] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY }));
    const flags = { has: () => false, value: () => undefined, values: () => [] };
    const answer = agree(
      'Make these changes?',
      { flags, stop: new AbortController().signal },
      { input: input!, output: output! },
    );
    input?.write(typed);
    return answer;
  };

  test.each([
    ['y\n', true],
    ['yes\n', true],
    ['\n', false],
    ['n\n', false],
    ['\x04', false],
  ])('%j means %s', async (typed, expected) => {
    expect(await ask(typed)).toBe(expected);
  });

  test('Ctrl-C cancels, and without a terminal there is a hint', async () => {
    await expect(ask('\x03')).rejects.toMatchObject({ code: 'cancelled', message: 'interrupted: nothing was changed' });
    await expect(ask('', false)).rejects.toMatchObject({
      code: 'refused',
      hint: 'add --yes to make them, or --print to see them',
    });
  });
});
