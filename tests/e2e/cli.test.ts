/** The executable on the command line: manners, exit codes, errors with their hints. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { PATIENCE } from '../setup/until.ts';
import { answers, EXECUTABLE, emptyPlace, INITIALIZE, rpc, run, start } from './program.ts';

describe('first words', () => {
  test('--version is one exact line', async () => {
    const { code, stdout, stderr } = await run(['--version'], emptyPlace());
    expect(stdout).toMatch(
      new RegExp(`^mcpx/${packageJson.version} ${process.platform}-${process.arch} node-v24\\.\\d+\\.\\d+\\n$`),
    );
    expect([code, stderr]).toEqual([0, '']);
  });

  test('--version --json names the state of the code cache, which V8 has accepted', async () => {
    const { code, stdout } = await run(['--version', '--json'], emptyPlace());
    expect(JSON.parse(stdout)).toMatchObject({ version: packageJson.version, codeCache: 'accepted' });
    expect(code).toBe(0);
  });

  test('help lists the commands, and one command in full', async () => {
    const all = await run(['help'], emptyPlace());
    expect(all.code).toBe(0);
    for (const word of ['serve', 'demo', 'inspect', 'exec', 'config validate']) expect(all.stdout).toContain(word);
    const one = await run(['help', 'config', 'validate'], emptyPlace());
    expect(one.stdout).toContain('--strict');
    expect((await run(['exec', '--help'], emptyPlace())).stdout).toContain('--args <json>');
  });

  test.each([
    [['serv'], 'there is no command "serv"', 'hint: mcpx serve'],
    [['config', 'valdate'], 'there is no command "config valdate"', 'hint: mcpx config validate'],
    [['list', '--jsn'], '--jsn', 'hint: did you mean --json?'],
    [['inspect'], 'inspect', 'hint: mcpx help inspect'],
    [['list', 'extra'], 'extra', 'hint: '],
    [['exec', '--demo', 'math'], '"math" is a server', 'hint: '],
    [['exec', '--demo', 'math.calculate', 'expression'], '"expression" is not an argument', 'hint: '],
    [['serve', '--http', 'a:b:c'], '"a:b:c" is not an address', 'hint: '],
    [['serve', '--port', '99999'], '"99999" is not a port', 'hint: '],
  ])('%j is a usage error with a hint', async (args, message, hint) => {
    const { code, stdout, stderr } = await run(args, emptyPlace());
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: .*\n\nhint: .*\n$/s);
    expect(stderr).toContain(message);
    expect(stderr).toContain(hint);
  });
});

describe('the shell tool on the built-in servers', () => {
  test('tools lists them, with --json for machines', async () => {
    const place = emptyPlace();
    const text = await run(['tools', '--demo'], place);
    expect(text.stdout).toMatch(/^math\.calculate +\S/m);
    const json = JSON.parse((await run(['tools', '--demo', '--json'], place)).stdout);
    expect(json.map(({ server }: { server: string }) => server).sort()).toEqual(['math', 'memory', 'time']);
  });

  test('inspect shows a signature', async () => {
    const { code, stdout } = await run(['inspect', '--demo', 'math.calculate'], emptyPlace());
    expect(code).toBe(0);
    expect(stdout).toContain('calculate(args: {');
  });

  test('exec prints what the tool said', async () => {
    const place = emptyPlace();
    const { code, stdout, stderr } = await run(['exec', '--demo', 'math.calculate', 'expression=6 * 7'], place);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('42');
    const viaArgs = await run(['exec', '--demo', 'math.calculate', '--args', '{"expression":"2^10"}', '--json'], place);
    expect(JSON.stringify(JSON.parse(viaArgs.stdout))).toContain('1024');
    const viaStdin = await run(['exec', '--demo', 'math.calculate', '--args', '-'], place, '{"expression":"5-2"}');
    expect(viaStdin.stdout).toContain('3');
  });

  test.each([
    [['exec', '--demo', 'math.calculate', 'expression=1/'], 5, 'error: '],
    [['exec', '--demo', 'math.calculate', 'expr=1'], 2, 'expression'],
    [['exec', '--demo', 'maths.calculate'], 7, 'did you mean "math"?'],
    [['inspect', '--demo', 'math.calculat'], 7, 'did you mean "calculate"?'],
    [['tools', '--demo', 'nobody'], 7, 'no server is called "nobody"'],
  ])('%j ends with %i', async (args, code, message) => {
    const result = await run(args, emptyPlace());
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toContain(message);
  });
});

describe('the config', () => {
  test('the first serve writes a config and its schema, says so, and runs', async () => {
    const place = emptyPlace();
    const { code, stdout, stderr } = await run(['serve'], place, rpc(1, 'initialize', INITIALIZE));
    const file = join(place.env.HOME ?? '', '.mcpx', 'config.json');
    expect(code).toBe(0);
    expect(answers(stdout)[0].result.serverInfo.name).toBe('mcpx');
    expect(stderr).toContain(file);
    expect(existsSync(join(place.env.HOME ?? '', '.mcpx', 'mcpx.schema.json'))).toBe(true);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await run([], place, rpc(1, 'initialize', INITIALIZE));
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect((await run(['config', 'validate'], place)).code).toBe(0);
  });

  test.each([
    ['missing', undefined, 'does not exist'],
    ['malformed', '{"mcpServers": {"a": {"command": "x",,}}}', /:1:3\d\n/],
    ['of a wrong type', '{"mcpServers": {"a": {"command": 5}}}', /command/],
    ['with an unknown type', '{"mcpServers": {"a": {"type": "carrier-pigeon", "url": "http://x"}}}', /carrier-pigeon/],
  ])('%s is exit 6 with place and hint', async (_, content, message) => {
    const place = emptyPlace();
    const file = join(place.cwd, 'my.json');
    if (content !== undefined) place.file('my.json', content);
    for (const args of [
      ['serve', file],
      ['config', 'validate', file],
      ['list', '--config', file],
    ]) {
      const { code, stdout, stderr } = await run(args, place);
      expect([code, stdout]).toEqual([6, '']);
      expect(stderr).toMatch(message);
      expect(stderr).toContain(file);
      expect(stderr).toContain('\nhint: ');
      if (content !== undefined) expect(stderr).toMatch(/\n.*\^/);
    }
  });

  test('config show masks secrets, config path and schema answer', async () => {
    const place = emptyPlace();
    const file = place.file('c.json', {
      mcpServers: { a: { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer hunter2' } } },
    });
    const show = await run(['config', 'show', '--config', file], place);
    expect(show.code).toBe(0);
    expect(show.stdout).toContain('x.example');
    expect(show.stdout + show.stderr).not.toContain('hunter2');
    expect((await run(['config', 'path', '--config', file], place)).stdout.trim()).toBe(file);
    const schema = await run(['config', 'schema'], place);
    expect(JSON.parse(schema.stdout)).toEqual(
      JSON.parse(readFileSync(join(import.meta.dirname, '../../mcpx.schema.json'), 'utf8')),
    );
  });

  test('list shows what is configured and what it needs, and starts nothing', async () => {
    const place = emptyPlace();
    const file = place.file('c.json', {
      mcpServers: {
        gh: { command: 'false', env: { T: '${NOT_SET_ANYWHERE}' } },
        off: { command: 'x', disabled: true },
      },
    });
    const { code, stdout } = await run(['list', '-c', file], place);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^gh +stdio +needs NOT_SET_ANYWHERE +– +false\n {4}hint: export NOT_SET_ANYWHERE='<value>'$/m,
    );
    expect(stdout).toMatch(/^off +stdio +disabled +– +x$/m);
  });
});

test('a taken port is exit 1, says which port and what to type', async () => {
  const blocker = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => blocker.once('listening', resolve));
  onTestFinished(() => void blocker.close());
  const { port } = blocker.address() as AddressInfo;
  for (const args of [
    ['demo', '--port', `${port}`],
    ['serve', '--demo', '--port', `${port}`],
  ]) {
    const { code, stderr } = await run(args, emptyPlace());
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} on 127.0.0.1 is taken`);
    expect(stderr).toContain('--port 0');
  }
});

test('Ctrl-C ends the gateway with 130, SIGTERM with 0', async () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 0],
  ] as const) {
    const gateway = start(['demo', '--port', '0'], emptyPlace());
    await gateway.wrote('stdout', 'Running.');
    gateway.child.kill(signal);
    expect((await gateway.finished).code).toBe(code);
  }
});

test('a reader that goes away ends it quietly', async () => {
  const running = start(['tools', '--demo', '--json'], emptyPlace());
  running.child.stdout?.destroy();
  const { code, stderr } = await running.finished;
  expect([code, stderr]).toEqual([0, '']);
});

test('Ctrl-C ends every wait for a server that does not answer, at once and without another word', async () => {
  const place = emptyPlace();
  const script = 'require("fs").writeFileSync(process.argv[1], ""); setInterval(() => {}, 1000)';
  const commands = [['tools'], ['tools', 'silent'], ['exec', 'silent.x'], ['inspect', 'silent'], ['lock'], ['tokens']];
  await Promise.all(
    commands.map(async (words, at) => {
      const started = join(place.cwd, `started-${at}`);
      const silent = { command: process.execPath, args: ['-e', script, started], startupTimeout: '5m' };
      const running = start([...words, '--config', place.file(`${at}.json`, { mcpServers: { silent } })], place);
      await vi.waitFor(() => expect(existsSync(started)).toBe(true), { timeout: PATIENCE });
      running.child.kill('SIGINT');
      const { code, stdout, stderr } = await running.finished;
      expect({ code, stdout, stderr }, words.join(' ')).toEqual({ code: 130, stdout: '', stderr: '' });
    }),
  );
});

test.skipIf(!existsSync('/dev/full'))('an answer that cannot be written is a failure that says so', () => {
  const { status, stderr } = spawnSync('sh', ['-c', `"${EXECUTABLE}" tools --demo > /dev/full`], {
    env: emptyPlace().env,
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toContain('error: the answer cannot be written: ');
});

test('mistakes in a config are told to programs too', async () => {
  const place = emptyPlace();
  const file = place.file('mcp.json', { mcpServers: { a: { comand: 'x' } } });
  const { code, stdout, stderr } = await run(['config', 'validate', '--json', file], place);
  expect(code).toBe(6);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    mistakes: [{ message: 'server "a" has neither "command" nor "url"', line: 1 }],
  });
  expect(stderr).toContain('error: server "a"');
});
