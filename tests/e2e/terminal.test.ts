/** Every command once on pipes and once on a pseudo-terminal: colours, spinners and questions belong to terminals only. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { nameOf } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { widthOf } from '../../src/render/columns.ts';
import { EXECUTABLE, emptyPlace, fixture, type Place, run, start } from './program.ts';
import { HAS_TERMINAL, onTerminal } from './pseudo-terminal.ts';

/** The arguments of each command; on a terminal, `keys` are typed when `shown` is there, to end it or to answer. */
const RUNS: Record<string, { args?: string[]; shown?: RegExp; keys?: string; pipe?: number; terminal?: number }> = {
  serve: { shown: /waiting for an MCP client/, keys: '\u0003', terminal: 130 },
  demo: { args: ['--port', '0'], shown: /mcpx: listening|curl/, keys: '\u0003', pipe: -1, terminal: 130 },
  inspect: { args: ['math'] },
  exec: { args: ['slow.echo', 'text=x'] },
  read: { args: ['x:y'], pipe: 7, terminal: 7 },
  prompt: { args: ['x.y'], pipe: 7, terminal: 7 },
  status: { args: ['--url', 'http://127.0.0.1:9'], pipe: 4, terminal: 4 },
  doctor: {},
  init: { shown: /\[y\/N\]/, keys: 'n\r', pipe: 1, terminal: 1 },
  import: { args: ['./other.json'], shown: /\[y\/N\]/, keys: 'n\r', pipe: 1, terminal: 1 },
  setup: { args: ['cursor'], shown: /\[y\/N\]/, keys: 'n\r', pipe: 1, terminal: 1 },
  login: { args: ['--list'] },
  logout: { args: ['math'], pipe: 7, terminal: 7 },
  add: { args: ['new', '--no-check', '--', 'some-program'] },
  remove: { args: ['spare'] },
  enable: { args: ['off'] },
  disable: { args: ['spare2'] },
  get: { args: ['math'] },
  grants: {},
  diff: { args: ['math'] },
  'config set': { args: ['http.port', '3999'] },
  'config unset': { args: ['http.port'] },
  help: { args: ['exec'] },
  completion: { args: ['bash'] },
};

/** A home with a config of a built-in and a slow server, and a client with a server of its own. */
function livedIn(): Place {
  const place = emptyPlace();
  const home = place.env.HOME ?? '';
  const slow = { command: process.execPath, args: [fixture('stdio.mjs')] };
  const spare = { command: 'x', disabled: true };
  const servers = { math: { type: 'builtin' }, slow, spare, spare2: { command: 'y', disabled: true }, off: spare };
  mkdirSync(join(home, '.mcpx'));
  writeFileSync(join(home, '.mcpx', 'config.json'), JSON.stringify({ mcpServers: servers, http: { port: 3998 } }));
  mkdirSync(join(home, '.cursor'));
  writeFileSync(join(home, '.cursor', 'mcp.json'), JSON.stringify({ mcpServers: { files: { command: 'files' } } }));
  place.file('other.json', { mcpServers: { more: { command: 'more' } } });
  const { NO_COLOR: _, ...env } = place.env;
  return { ...place, env };
}

const ESCAPE = /\u001B|\r(?!\n)/;

describe.each(COMMANDS.map(({ usage }) => nameOf(usage)))('mcpx %s', (name) => {
  const { args = [], shown, keys = '', pipe = 0, terminal = 0 } = RUNS[name] ?? {};
  const words = [...name.split(' '), ...args];

  test('on pipes it asks nothing, and prints no colour, no spinner and no escape sequence', async () => {
    const place = livedIn();
    const running = start(words, place);
    // The demo runs until it is stopped.
    if (pipe === -1) {
      await running.wrote('stdout', 'curl');
      running.child.kill('SIGTERM');
    }
    running.child.stdin?.end();
    const { code, stdout, stderr } = await running.finished;
    expect(stdout + stderr).not.toMatch(ESCAPE);
    expect(stdout + stderr).not.toContain('[y/N]');
    if (pipe !== -1) expect(code, stderr).toBe(pipe);
  });

  test.runIf(HAS_TERMINAL)('on a terminal, where script is installed, it ends as it should', async () => {
    const place = livedIn();
    const program = onTerminal([EXECUTABLE, ...words], place);
    if (shown !== undefined) {
      await program.until(shown);
      program.type(keys);
    }
    const { code, shown: text } = await program.finished;
    expect(code, text).toBe(terminal);
    if (name === 'help' || name === 'man') expect(text).toMatch(name === 'help' ? /\u001B\[1m/ : /\.TH MCPX/);
  });
});

describe.runIf(HAS_TERMINAL)('a terminal of 80 columns, where script is installed,', () => {
  const linesOf = (text: string) => stripVTControlCharacters(text).split(/\r?\n/);

  test('gets tables that fit, and a pipe gets them complete', async () => {
    const place = livedIn();
    const piped = (await run(['tools', 'math'], place)).stdout;
    expect(piped).not.toContain('…');
    expect(Math.max(...linesOf(piped).map(widthOf))).toBeGreaterThan(80);
    const { shown } = await onTerminal([EXECUTABLE, 'tools', 'math'], place).finished;
    expect(shown).toContain('…');
    expect(Math.max(...linesOf(shown).map(widthOf))).toBeLessThanOrEqual(80);
  });

  test('gets sentences of results and errors that break between words, and a pipe gets them on one line', async () => {
    const place = livedIn();
    const long = 'a program with a name of many words that are not on this machine';
    writeFileSync(
      join(place.cwd, 'broken.json'),
      JSON.stringify({ mcpServers: { broken: { command: long, args: ['x'] } } }),
    );
    for (const words of [['list', '--check'], ['doctor', 'broken'], ['tools']]) {
      const command = [...words, '-c', 'broken.json'];
      const piped = await run(command, place);
      expect(piped.stdout + piped.stderr).toContain(`command "${long}" was not found`);
      const { shown } = await onTerminal([EXECUTABLE, ...command], place).finished;
      // A path is not broken, and that of the temporary folder may be wider than the terminal.
      const sentences = linesOf(shown).filter((line) => !/run:|⠋/.test(line) && !line.includes(place.cwd));
      expect(Math.max(...sentences.map(widthOf)), shown).toBeLessThanOrEqual(80);
      expect(sentences.join(' ').replace(/\s+/g, ' ')).toContain(`command "${long}" was not found`);
    }
  });

  test('shows a spinner while a call takes long, and takes it away; with CI there is none, and no question', async () => {
    const place = livedIn();
    const call = [EXECUTABLE, 'exec', 'slow.sleep', 'ms:=2000'];
    const { shown } = await onTerminal(call, place).finished;
    expect(shown).toMatch(/\r\u001B\[K⠋ (?:running|starting) slow/);
    expect(shown).toMatch(/\r\u001B\[K[^⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]*slept\r?\n$/);
    const built = { ...place, env: { ...place.env, CI: 'true' } };
    expect((await onTerminal(call, built).finished).shown).not.toMatch(/\r\u001B\[K/);
    const refused = await onTerminal([EXECUTABLE, 'import', './other.json'], built).finished;
    expect([refused.code, refused.shown]).toEqual([1, expect.stringContaining('there is no terminal')]);
  });

  test('shows Chinese where the locale says so, within the columns', async () => {
    const place = livedIn();
    const chinese = { ...place, env: { ...place.env, LANG: 'zh_CN.UTF-8' } };
    const { shown } = await onTerminal([EXECUTABLE, 'help'], chinese).finished;
    expect(shown).toContain('列出已配置的服务器');
    expect(Math.max(...linesOf(shown).map(widthOf))).toBeLessThanOrEqual(80);
  });
});
