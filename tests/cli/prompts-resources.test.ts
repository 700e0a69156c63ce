/** Resources and prompts in a shell, and parts of results, with a real server. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { captureOutput } from '../setup/output.ts';

const shown = captureOutput();

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

const fixture = (name: string) => resolve(import.meta.dirname, '../fixtures/servers', name);
const server = { command: process.execPath, args: [fixture('conformance.mjs')] };

function configFile(mcpServers: unknown, more: object = {}): string {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-cli-')), 'config.json');
  writeFileSync(file, JSON.stringify({ mcpServers, ...more }));
  return file;
}

const offers = () => configFile({ offers: server, time: { type: 'builtin' } });

describe('resources', () => {
  test('are listed with their templates, or one server alone', async () => {
    expect(await mcpx('resources', '-c', offers())).toBe(0);
    expect(shown.stdout).toMatch(/^offers {2}test:\/\/static-text +static-text: A text that never changes$/m);
    expect(shown.stdout).toContain('test://template/{id}/data');
    shown.stdout = '';
    expect(await mcpx('resources', 'time', '-c', offers())).toBe(0);
    expect([shown.stdout, shown.stderr]).toEqual(['', expect.stringContaining('there are no resources')]);
  });

  test('--json gives what the servers said', async () => {
    expect(await mcpx('resources', 'offers', '-c', offers(), '--json')).toBe(0);
    const [offered] = JSON.parse(shown.stdout);
    expect(offered).toMatchObject({ server: 'offers', templates: [{ uriTemplate: 'test://template/{id}/data' }] });
    expect(offered.resources).toContainEqual(expect.objectContaining({ uri: 'test://static-text' }));
  });

  test('are read by their URI: by a template, as JSON, as bytes', async () => {
    const config = offers();
    expect(await mcpx('read', 'test://template/7/data', '-c', config, '--server', 'offers')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({ id: '7' });
    shown.stdout = '';
    expect(await mcpx('read', 'test://static-binary', '-c', config, '--json')).toBe(0);
    const { contents } = JSON.parse(shown.stdout);
    shown.stdout = '';
    expect(await mcpx('read', 'test://static-binary', '-c', config)).toBe(0);
    expect(shown.stdout).toBe(String(Buffer.from(contents[0].blob, 'base64')));
  });

  test('a text is written exactly into a file, and as a line on a terminal', async () => {
    const config = offers();
    expect(await mcpx('read', 'test://static-text', '-c', config, '--json')).toBe(0);
    const { text } = JSON.parse(shown.stdout).contents[0];
    expect(text).toMatch(/[^\n]$/);
    const wasTerminal = process.stdout.isTTY;
    onTestFinished(() => {
      process.stdout.isTTY = wasTerminal;
    });
    for (const [isTerminal, written] of [
      [false, text],
      [true, `${text}\n`],
    ]) {
      process.stdout.isTTY = isTerminal;
      shown.stdout = '';
      expect(await mcpx('read', 'test://static-text', '-c', config)).toBe(0);
      expect(shown.stdout).toBe(written);
    }
  });

  test('one that nobody has is not found, with the nearest', async () => {
    expect(await mcpx('read', 'test://static-txt', '-c', offers())).toBe(7);
    expect(shown.stderr).toContain('did you mean "test://static-text"');
  });

  test('one that two servers have is not guessed', async () => {
    const config = configFile({ a: server, b: server });
    expect(await mcpx('read', 'test://static-text', '-c', config)).toBe(7);
    expect(shown.stderr).toContain('several servers have a resource "test://static-text": a, b');
    expect(await mcpx('read', 'test://static-text', '-c', config, '--server', 'b')).toBe(0);
  });
});

test('servers that cannot be reached are named; none at all is said', async () => {
  const dead = { command: 'no-such-program-anywhere' };
  expect(await mcpx('resources', '-c', configFile({ dead, time: { type: 'builtin' } }))).toBe(0);
  expect(shown.stderr).toContain('no-such-program-anywhere');
  expect(await mcpx('prompts', '-c', configFile({ dead }))).toBe(4);
  expect(await mcpx('prompts', 'dead', '-c', configFile({ dead }))).toBe(4);
  shown.stderr = '';
  expect(await mcpx('resources', '-c', configFile({}))).toBe(0);
  expect(shown.stderr).toContain('no server is configured');
});

describe('prompts', () => {
  test('are listed with their arguments', async () => {
    expect(await mcpx('prompts', '-c', offers())).toBe(0);
    expect(shown.stdout).toMatch(/^offers\.test_prompt_with_arguments\(arg1, arg2\) /m);
    shown.stdout = '';
    expect(await mcpx('prompts', 'offers', '-c', offers(), '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toEqual([{ server: 'offers', prompts: expect.any(Array) }]);
    expect(await mcpx('prompts', 'time', '-c', offers())).toBe(0);
    expect(shown.stderr).toContain('there are no prompts');
  });

  test('are filled in, by their whole name or alone', async () => {
    const config = offers();
    for (const target of ['offers.test_prompt_with_arguments', 'test_prompt_with_arguments']) {
      shown.stdout = '';
      expect(await mcpx('prompt', target, 'arg1=hello', 'arg2:=5', '-c', config)).toBe(0);
      expect(shown.stdout).toMatch(/^user: .*hello.*5/s);
    }
    shown.stdout = '';
    expect(await mcpx('prompt', 'test_simple_prompt', '-c', config, '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({ messages: [{ role: 'user' }] });
  });

  test('pictures and embedded resources are shown as what they are', async () => {
    const config = offers();
    expect(await mcpx('prompt', 'test_prompt_with_image', '-c', config)).toBe(0);
    expect(shown.stdout).toMatch(/user: \[image image\/png, \d+ base64 characters; --json shows them\]/);
    shown.stdout = '';
    expect(await mcpx('prompt', 'test_prompt_with_embedded_resource', 'resourceUri=test://x', '-c', config)).toBe(0);
    expect(shown.stdout).toContain('"type":"resource"');
  });

  test.each(['nothing', 'arg1:={'])('%j is no argument', async (word) => {
    expect(await mcpx('prompt', 'offers.test_simple_prompt', word, '-c', offers())).toBe(2);
  });

  test('one that is not there is told with the nearest, one that two have is not guessed', async () => {
    expect(await mcpx('prompt', 'offers.test_simple_promt', '-c', offers())).toBe(7);
    expect(shown.stderr).toContain('did you mean "test_simple_prompt"');
    expect(await mcpx('prompt', 'test_simple_prompt', '-c', configFile({ a: server, b: server }))).toBe(2);
    expect(shown.stderr).toContain('several servers have a prompt "test_simple_prompt": a, b');
  });
});

describe('a name without its server', () => {
  const dead = { command: 'no-such-program-anywhere' };
  /** Never listed before, whatever other tests have started. */
  const slow = { ...server, args: [...server.args, 'never-listed'] };
  const impatient = { connect: { firstListWait: 1 } };

  test('is found on a server that takes its time to start', async () => {
    expect(await mcpx('exec', 'test_simple_text', '-c', configFile({ slow }, impatient))).toBe(0);
    const other = { ...slow, args: [...slow.args, 'either'] };
    expect(await mcpx('prompt', 'test_simple_prompt', '-c', configFile({ other }, impatient))).toBe(0);
  });

  test('that is not there is told with the servers that could not be asked', async () => {
    for (const [command, why] of [
      ['exec', 'error: no server has a tool "nothing"'],
      ['prompt', 'error: there is no prompt "nothing"'],
    ] as const) {
      shown.stderr = '';
      expect(await mcpx(command, 'nothing', '-c', configFile({ dead, time: { type: 'builtin' } }))).toBe(7);
      expect(shown.stderr).toMatch(/^warning: .*no-such-program-anywhere/);
      expect(shown.stderr).toContain(why);
      expect(await mcpx(command, 'nothing', '-c', configFile({ dead }))).toBe(4);
    }
  });

  test('a prompt of a server that is down fails as the server does', async () => {
    expect(await mcpx('prompt', 'dead.nothing', '-c', configFile({ dead, time: { type: 'builtin' } }))).toBe(4);
    expect(shown.stderr).toContain('no-such-program-anywhere');
  });
});

describe('exec --select', () => {
  test.each([
    [['number'], 'ff\n'],
    [['number', '--json'], '"ff"\n'],
    [['{n: number}'], '{"n":"ff"}\n'],
    [['@'], '{"number":"ff"}\n'],
    [['nothing'], 'null\n'],
  ])('%j prints the part alone', async (words, expected) => {
    expect(await mcpx('exec', '--demo', 'math.convert_base', 'number=255', 'to=16', '--select', ...words)).toBe(0);
    expect(shown.stdout).toBe(expected);
  });

  test('a malformed one is refused before anything runs', async () => {
    expect(await mcpx('exec', '--demo', 'math.convert_base', 'number=255', '--select', 'a[')).toBe(2);
    expect(shown.stderr).toContain('"select" cannot be used');
  });

  test('selects lines of a result that is text', async () => {
    expect(await mcpx('exec', '-c', offers(), 'offers.test_simple_text', '--select', '[:1]')).toBe(0);
    expect(shown.stdout).toMatch(/^This is a simple text/);
    expect(await mcpx('exec', '-c', offers(), 'offers.test_simple_text', '--select', 'length(@)', '--json')).toBe(0);
    expect(shown.stdout).toMatch(/\n1\n$/);
  });

  test('a result without text says that the tool ran', async () => {
    expect(await mcpx('exec', '-c', offers(), 'offers.test_image_content', '--select', 'a')).toBe(1);
    expect(shown.stderr).toContain('the tool ran, but its result has no text');
  });

  test('what was odd about arguments is noted on stderr, and stdout has the answer alone', async () => {
    const echo = { command: process.execPath, args: [fixture('sdk-v1.mjs'), 'stdio'] };
    expect(await mcpx('exec', '-c', configFile({ echo }), 'echo.fail', 'txt=1', '--json')).toBe(5);
    expect(JSON.parse(shown.stdout)).toHaveProperty('content');
    expect(shown.stderr).toContain('note: unknown property "txt" was passed on; did you mean "text"?');
  });
});
