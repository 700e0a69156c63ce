/** The command line in process: every command against the built-in servers, and the words that are no command. */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { nameOf } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { table } from '../../src/cli/output.ts';
import { captureOutput } from '../setup/output.ts';
import { PATIENCE } from '../setup/until.ts';

const shown = captureOutput();

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

function configFile(content: unknown): string {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-cli-')), 'config.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

describe('help and version', () => {
  test('bare mcpx at a terminal prints help', async () => {
    expect(await mcpx()).toBe(0);
    expect(shown.stdout).toContain('mcpx demo');
  });

  test.each(['--version', '-V', '-v'])('%s', async (flag) => {
    expect(await mcpx(flag)).toBe(0);
    expect(shown.stdout).toMatch(/^mcpx\/\S+ \S+ node-v\S+\n$/);
  });

  test.each([
    ['tools', '-V'],
    ['exec', '--version'],
    ['config', 'path', '-V'],
    ['--version', '--no-color'],
  ])('%s %s', async (...words) => {
    expect(await mcpx(...words)).toBe(0);
    expect(shown.stdout).toMatch(/^mcpx\/\S+ \S+ node-v\S+\n$/);
  });

  test('--version --json prints the facts of this program, here without a code cache', async () => {
    expect(await mcpx('--version', '--json')).toBe(0);
    const { node } = process.versions;
    const facts = { platform: process.platform, arch: process.arch, node, codeCache: 'none' };
    expect(JSON.parse(shown.stdout)).toMatchObject(facts);
  });

  test('what an option implies is said where it does', async () => {
    expect(await mcpx('serve', '--help')).toBe(0);
    expect(shown.stdout.match(/;\s+implies\s+--http/g)).toHaveLength(2);
    shown.stdout = '';
    expect(await mcpx('demo', '--help')).toBe(0);
    expect(shown.stdout).not.toContain('--http');
  });

  test.each(COMMANDS.map(({ usage }) => nameOf(usage)))('%s has help in both forms', async (name) => {
    expect(await mcpx(...name.split(' '), '--help')).toBe(0);
    const byFlag = shown.stdout;
    shown.stdout = '';
    expect(await mcpx('help', ...name.split(' '))).toBe(0);
    expect(shown.stdout).toBe(byFlag);
    expect(shown.stdout).toContain(`mcpx ${name}`);
  });

  test('a family of commands has help of its own, an unknown topic has none', async () => {
    expect(await mcpx('help', 'config')).toBe(0);
    expect(shown.stdout).toContain('mcpx config schema');
    expect(await mcpx('help', 'nonsense')).toBe(2);
    expect(await mcpx('--help')).toBe(0);
  });
});

describe('words that are wrong', () => {
  test.each([
    [['toolz'], 'there is no command "toolz"', 'mcpx tools'],
    [['config'], '"config" needs one of: path, show, set, unset, validate, schema', 'mcpx help config'],
    [['confg'], 'there is no command "confg"', 'mcpx config'],
    [['config', 'sho'], 'there is no command "config sho"', 'mcpx config show'],
    [['config', 'get', 'x'], 'there is no command "config get"', 'mcpx config show\n'],
    [['help', 'conf'], 'there is no help for "conf"', 'mcpx help config\n'],
    [['zzz'], 'there is no command "zzz"', 'mcpx help'],
    [['call', 'a.b', 'title=two words'], 'there is no command "call"', "mcpx exec a.b 'title=two words'\n"],
    [['run', 'a.b'], 'there is no command "run"', 'mcpx exec a.b\n'],
    [['ls'], 'there is no command "ls"', 'mcpx list\n'],
    [['search', 'what', 'time'], 'there is no command "search"', "mcpx tools -s 'what time'\n"],
    [['find'], 'there is no command "find"', 'mcpx tools -s query\n'],
    [['version'], 'there is no command "version"', 'mcpx --version\n'],
    [['describe', 'a.b'], 'there is no command "describe"', 'mcpx inspect a.b\n'],
    [['a.b', 'x=1'], 'there is no command "a.b"', 'mcpx exec a.b x=1\n'],
    [['start', '--', '--token=hunter2'], 'there is no command "start"', 'mcpx serve\n'],
    [['check'], 'there is no command "check"', 'mcpx list --check\n'],
    [['list', '--jsn'], 'unknown option "--jsn"', 'did you mean --json?'],
    [['list', '--log-levle', 'x'], '--log-levle', 'mcpx help list'],
    [['list', '--config'], 'value is missing', 'mcpx help list'],
    [['exec'], '"exec" needs <target>', 'mcpx help exec'],
    [['list', 'a'], '"list" does not take "a"', 'mcpx help list'],
    [['list', '--json=yes'], 'option "--json" takes no value', 'mcpx help list'],
    [['config', 'zzz'], 'there is no command "config zzz"', 'mcpx help config'],
    [['status', '--url', 'here'], '"here" is not a URL', 'mcpx status --url http://'],
  ])('%j', async (words, message, hint) => {
    expect(await mcpx(...words)).toBe(2);
    expect(shown.stderr).toContain(message);
    expect(shown.stderr).toContain(hint);
    expect(shown.stdout).toBe('');
  });
});

describe('the shell tool', () => {
  test('list, with and without --json', async () => {
    expect(await mcpx('list', '--demo')).toBe(0);
    expect(shown.stdout).toMatch(/^math +builtin +never started +– +math$/m);
    shown.stdout = '';
    expect(await mcpx('list', '--demo', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toHaveLength(3);
  });

  test('list of nothing says what to do', async () => {
    const file = configFile({ mcpServers: {} });
    for (const command of ['list', 'tools', 'resources', 'prompts', 'lock', 'diff', 'tokens']) {
      shown.stderr = '';
      expect(await mcpx(command, '--config', file), command).toBe(0);
      expect(shown.stderr, command).toBe(
        'no server is configured; `mcpx init` imports those of your clients, `mcpx add <name> -- <command>` adds one\n',
      );
    }
    expect(shown.stdout).not.toContain('% less');
  });

  test('list shows every kind of target without its secrets', async () => {
    const file = configFile({
      mcpServers: {
        a: { url: 'https://x.example/mcp?key=hunter2', headers: { Authorization: 'Bearer hunter2' } },
        b: { type: 'module', module: './tools.mjs' },
        c: { command: 'run', args: ['--token', 'hunter2'], disabled: true },
      },
      profiles: { default: { servers: ['*'] }, other: { servers: ['a'] } },
    });
    expect(await mcpx('list', '--config', file)).toBe(0);
    expect(shown.stdout).toContain('x.example');
    expect(shown.stdout).toContain('tools.mjs');
    expect(shown.stdout).toMatch(/^other +a/m);
    expect(shown.stdout).not.toContain('hunter2');
    shown.stdout = '';
    expect(await mcpx('list', '--config', file, '--profile', 'other')).toBe(0);
    expect(shown.stdout).toMatch(/^a +\S+ +never started +– +https:\/\/x\.example.*\n$/);
  });

  test('without an enabled profile there is nothing to ask, whatever the command', async () => {
    const file = configFile({ mcpServers: { math: { type: 'builtin' } }, profiles: { p: { enabled: false } } });
    for (const words of [['serve'], ['tools'], ['exec', 'math.calculate']]) {
      shown.stderr = '';
      expect(await mcpx(...words, '-c', file)).toBe(6);
      expect(shown.stderr).toContain('error: no profile is enabled\n\nhint: enable one');
    }
  });

  test('tools of all, of one, as JSON', async () => {
    expect(await mcpx('tools', '--demo')).toBe(0);
    expect(shown.stdout).toMatch(/^time\.now +\S/m);
    shown.stdout = '';
    expect(await mcpx('tools', '--demo', 'math', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject([{ server: 'math' }]);
  });

  test('where there are no tools, that is said', async () => {
    const math = { type: 'builtin', tools: { deny: ['*'] } };
    expect(await mcpx('tools', '-c', configFile({ mcpServers: { math } }))).toBe(0);
    expect([shown.stdout, shown.stderr]).toEqual(['', 'there are no tools\n']);
  });

  test('one dead server is a warning, all dead is exit 4', async () => {
    const dead = { command: 'no-such-program-anywhere' };
    expect(await mcpx('tools', '-c', configFile({ mcpServers: { dead, math: { type: 'builtin' } } }))).toBe(0);
    expect(shown.stdout).toContain('math.calculate');
    expect(shown.stderr).toContain('dead');
    expect(await mcpx('tools', '-c', configFile({ mcpServers: { dead } }))).toBe(4);
    expect(await mcpx('inspect', 'dead', '-c', configFile({ mcpServers: { dead } }))).toBe(4);
    shown.stdout = '';
    expect(await mcpx('inspect', 'dead', '--json', '-c', configFile({ mcpServers: { dead } }))).toBe(4);
    expect(shown.stdout).toBe('');
  });

  test('options may stand before the command', async () => {
    const file = configFile({ mcpServers: { math: { type: 'builtin' } } });
    expect(await mcpx('--config', file, 'tools', 'math')).toBe(0);
    expect(shown.stdout).toContain('math.calculate');
    expect(await mcpx('-c', file, 'config', 'validate')).toBe(0);
  });

  test('no server at all is said as such', async () => {
    expect(await mcpx('tools', '-c', configFile({ mcpServers: {} }))).toBe(0);
    expect(shown.stderr + shown.stdout).toContain('no server is configured');
  });

  test('a bare name finds the one server that has such a tool', async () => {
    expect(await mcpx('exec', '--demo', 'calculate', 'expression=6*7')).toBe(0);
    expect(shown.stdout).toContain('42');
    expect(await mcpx('exec', '--demo', 'calculat')).toBe(7);
    expect(shown.stderr).toContain('did you mean "math.calculate"?');
  });

  test('a hint can be pasted: it keeps the options that chose the servers', async () => {
    await mcpx('exec', '--demo', 'math.calculate', 'wrong=1');
    expect(shown.stderr).toContain('hint: mcpx inspect --demo math.calculate');
  });

  test('inspect a server and a tool, as text and as JSON', async () => {
    expect(await mcpx('inspect', '--demo', 'time')).toBe(0);
    expect(shown.stdout).toContain('now(');
    shown.stdout = '';
    expect(await mcpx('inspect', '--demo', 'time.now')).toBe(0);
    expect(shown.stdout).toContain('now(');
    shown.stdout = '';
    await mcpx('inspect', '--demo', 'time', '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ server: 'time' });
    shown.stdout = '';
    await mcpx('inspect', '--demo', 'time.now', '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ name: 'now', inputSchema: { type: 'object' } });
  });

  test('exec takes pairs, JSON pairs and --args', async () => {
    expect(await mcpx('exec', '--demo', 'math.statistics', 'numbers:=[1,2,3]')).toBe(0);
    expect(shown.stdout).toContain('"mean":2');
    shown.stdout = '';
    const file = configFile('{"expression":"1+1"}');
    expect(await mcpx('exec', '--demo', 'math.calculate', '--args', `@${file}`, '--json')).toBe(0);
    expect(JSON.parse(shown.stdout).structuredContent).toEqual({ result: 2 });
  });

  test.each([
    [['math.calculate', 'expression=1/'], 5, 'error: '],
    [['math.calculate', 'wrong=1'], 2, 'expression'],
    [['math.calculate', '--args', '[1]'], 2, 'must be a JSON object'],
    [['math.calculate', '--args', '{'], 2, 'is not JSON'],
    [['math.calculate', '--args', '@/nowhere/at/all'], 2, 'cannot be read'],
    [['math.calculate', 'expression:=nope'], 2, 'is not JSON'],
    [['math.calculat'], 7, 'did you mean "calculate"?'],
    [['nope.x'], 7, 'no server is called "nope"'],
  ])('exec %j ends with %i', async (words, code, message) => {
    expect(await mcpx('exec', '--demo', ...words)).toBe(code);
    expect(shown.stderr).toContain(message);
    expect(shown.stdout).toBe('');
  });
});

describe('config commands', () => {
  test('validate says ok, or what is missing, or exits 6', async () => {
    const file = configFile({ mcpServers: { gh: { command: 'x', env: { T: '${NOT_SET_ANYWHERE}' } } } });
    expect(await mcpx('config', 'validate', file)).toBe(0);
    expect(shown.stdout).toBe(`${file}: ok, 1 server\n`);
    expect(shown.stderr).toContain('NOT_SET_ANYWHERE');
    shown.stdout = '';
    expect(await mcpx('config', 'validate', file, '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      ok: true,
      missing: [{ server: 'gh', variables: ['NOT_SET_ANYWHERE'] }],
    });
    expect(await mcpx('config', 'validate', configFile('{'))).toBe(6);
    expect(await mcpx('config', 'validate')).toBe(6);
  });

  test('validate reports an audit log that cannot be written, and creates none', async () => {
    const blocked = join(configFile('in the way'), 'audit.jsonl');
    const file = configFile({ mcpServers: {}, audit: { file: blocked } });
    expect(await mcpx('config', 'validate', file)).toBe(6);
    expect(shown.stderr).toContain(`the audit log "${blocked}" cannot be written`);
    expect(shown.stderr).toContain('hint: set "audit.file" to a file that you may write');
    shown.stdout = '';
    expect(await mcpx('config', 'validate', file, '--json')).toBe(6);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      ok: false,
      mistakes: [{ message: expect.stringContaining(blocked) }],
    });
    const fine = configFile({ mcpServers: {}, audit: { file: './logs/audit.jsonl' } });
    expect(await mcpx('config', 'validate', fine)).toBe(0);
    expect(existsSync(join(dirname(fine), 'logs'))).toBe(false);
  });

  test('an unknown key is a warning, with --strict an error', async () => {
    const file = configFile({ mcpServers: {}, profils: {} });
    expect(await mcpx('config', 'validate', file)).toBe(0);
    expect(shown.stderr).toMatch(/warning: .*profils.*profiles/s);
    expect(await mcpx('config', 'validate', file, '--strict')).toBe(6);
  });

  test('path, show and schema', async () => {
    expect(await mcpx('config', 'path')).toBe(0);
    expect(shown.stdout).toMatch(/\.mcpx.config\.json\n$/);
    expect(shown.stderr).toContain('does not exist yet');
    shown.stdout = '';
    expect(await mcpx('config', 'path', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject([{ exists: false }]);
    shown.stdout = '';
    expect(await mcpx('config', 'show', '--config', configFile({ mcpServers: { a: { command: 'x' } } }))).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({ mcpServers: { a: { command: 'x' } }, http: { port: 3095 } });
    shown.stdout = '';
    expect(await mcpx('config', 'schema')).toBe(0);
    expect(JSON.parse(shown.stdout)).toHaveProperty('definitions.document.properties.mcpServers');
  });
});

test('config path says of a file that was named and is not there how to come by one', async () => {
  const there = configFile({});
  const missing = `${there}.json`;
  expect(await mcpx('config', 'path', '-c', missing, '-c', there)).toBe(0);
  expect(shown.stdout).toBe(`${missing}\n${there}\n`);
  const advice = `"${missing}" does not exist; create it with the text {"mcpServers": {}}, or name another file`;
  expect(shown.stderr).toContain(advice);
  expect(shown.stderr).not.toContain('mcpx serve');
  shown.stderr = '';
  vi.stubEnv('MCPX_CONFIG', missing);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await mcpx('config', 'path')).toBe(0);
  expect(shown.stderr).toContain(advice);
});

describe('serving', () => {
  test('demo prints its report, answers, and ends when told', async () => {
    const stop = new AbortController();
    const ended = runCli({
      words: ['demo', '--port', '0'],
      stdinIsTerminal: true,
      stop: stop.signal,
      atExit: () => undefined,
    });
    await vi.waitFor(() => expect(shown.stdout).toContain('Running.'), { timeout: PATIENCE });
    const [, url = ''] = /^status page +(\S+)$/m.exec(shown.stdout) ?? [];
    const status: any = await (await fetch(`${url}api/status`)).json();
    expect(status.profiles[0].servers).toHaveLength(3);
    stop.abort();
    expect(await ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  test('serve --http says where it listens', async () => {
    const stop = new AbortController();
    const file = configFile({ mcpServers: { math: { type: 'builtin' } } });
    const ended = runCli({
      words: ['--http', '127.0.0.1:0', '-c', file],
      stdinIsTerminal: true,
      stop: stop.signal,
      atExit: () => undefined,
    });
    await vi.waitFor(() => expect(shown.stderr).toMatch(/listening on http:\/\/127\.0\.0\.1:\d+\/mcp/), {
      timeout: PATIENCE,
    });
    stop.abort();
    expect(await ended).toBe(0);
  });

  test.each([
    [['serve', '--http', 'a:b:c'], 2, 'is not an address'],
    [['serve', '--port', '70000'], 2, 'is not a port'],
    [['serve', '--http', 'nowhere.json'], 6, 'does not exist'],
    [['nowhere.json', '--port', '0'], 6, 'does not exist'],
    [['serve', '--demo', '--host', '0.0.0.0', '--port', '0'], 6, 'without a token'],
    [['serve', '--demo', '--front', 'nice', '--port', '0'], 2, 'front'],
  ])('%j ends with %i', async (words, code, message) => {
    expect(await mcpx(...words)).toBe(code);
    expect(shown.stderr).toContain(message);
  });
});

test('a table pads all but its last column', () => {
  expect(
    table([
      ['a', 'b'],
      ['ccc', 'd'],
    ]),
  ).toBe('a    b\nccc  d');
});
