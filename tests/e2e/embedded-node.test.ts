/** Scripts that run in the executable because no Node is on PATH: as with Node, alone and as servers. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { buildZip, manifestText } from '../server-packages/zip-builder.ts';
import { BUNDLE, EXECUTABLE, emptyPlace, fixture, type Place, run, start } from './program.ts';

const PACKAGES = resolve(import.meta.dirname, '../../node_modules');
const SCRIPTS = resolve(import.meta.dirname, '../fixtures/node-scripts');
const script = (name: string) => join(SCRIPTS, name);

const unpacked = mkdtempSync(join(tmpdir(), 'mcpx-unpacked-'));
afterAll(() => rmSync(unpacked, { recursive: true, force: true }));
const BROKEN = join(unpacked, 'syntax-error.cjs');
writeFileSync(BROKEN, 'console.log("before");\nconst broken = ;\n');

/** A place whose PATH has no program at all. */
function placeWithoutNode(): Place {
  const place = emptyPlace();
  return { ...place, env: { ...place.env, PATH: place.cwd } };
}

/** Runs a script with the executable and with the Node of the tests; both in the folder of the scripts. */
function both(args: string[], { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {}) {
  const runWith = (program: string, before: string[]) => {
    const own = spawnSync(program, [...before, ...args], {
      ...{ cwd: SCRIPTS, encoding: 'utf8', input, env: { PATH: dirname(process.execPath), ...env } },
    });
    return { code: own.status, signal: own.signal, stdout: own.stdout, stderr: own.stderr };
  };
  return { embedded: runWith(EXECUTABLE, ['__node']), node: runWith(process.execPath, []) };
}

describe('a script in the executable', () => {
  test.each<[what: string, ...args: string[]]>([
    ['CommonJS, with require.main', 'commonjs.cjs', 'a b', '--title', '-e'],
    ['a folder with an index.js', 'folder', 'x'],
    ['an ES module with top-level await and relative imports', 'module.mjs', 'a'],
    ['a folder with the main file of its package', './package', 'a'],
    ['an absolute path', script('commonjs.cjs')],
    ['top-level await that never ends', 'unsettled.mjs'],
    ['an exit code', 'exit-code.cjs'],
    ['process.exit', 'exit.cjs'],
    ['an exception', 'throws.cjs'],
    ['a rejection', 'rejects.cjs'],
    ['handlers of its own', 'handlers.cjs'],
    ['a missing import', 'lost-import.mjs'],
    ['a syntax error', BROKEN],
    ['a worker', 'worker.cjs'],
    ['all kinds of children', 'children.cjs'],
    ['code', '-e', 'console.log(process.argv.length, require("./package/lib/value.cjs"), __filename)', 'x'],
    ['code whose value is printed', '-p', '({ a: [1, process.argv[1]] })', 'x'],
    ['code that is a module', '-e', 'import { value } from "./package/lib/value.mjs"; console.log(value, await 1)'],
    ['code with a syntax error', '-e', 'const broken = ;'],
    ['modules before the script', '-r', './folder/index.js', '--import', './package/lib/main.js', 'commonjs.cjs'],
  ])('%s: prints and exits as with Node', (_, ...args) => {
    const { embedded, node } = both(args);
    expect(embedded).toMatchObject({ code: node.code, signal: node.signal });
    // The children end in any order.
    const lines = (text: string) => text.split('\n').sort();
    expect(lines(embedded.stdout)).toEqual(lines(node.stdout));
    if (node.code === 1) expect(errorLines(embedded.stderr)).toEqual(errorLines(node.stderr));
  });

  test('reads stdin, and code from stdin', () => {
    for (const [args, input] of [
      [['stdin.cjs'], 'one\n'],
      [['-', 'x'], 'console.log(process.argv.length)'],
    ] as const) {
      const { embedded, node } = both([...args], { input });
      expect(embedded).toMatchObject({ code: 0, stdout: node.stdout, stderr: '' });
    }
  });

  test('gets the variables of --env-file, without replacing one that is set', () => {
    const place = emptyPlace();
    const [first, second] = [place.file('a.env', 'A=1\nB=1\nSET=file\n'), place.file('b.env', 'B=2\n')];
    const args = [
      `--env-file=${first}`,
      `--env-file=${second}`,
      '-p',
      '[process.env.A, process.env.B, process.env.SET]',
    ];
    const { embedded, node } = both(args, { env: { SET: 'shell' } });
    expect(embedded).toMatchObject({ code: 0, stdout: node.stdout, stderr: '' });
    expect(both([`--env-file=${place.cwd}/none`, '-p', '1']).embedded).toMatchObject({ code: 9, stdout: '' });
  });

  test('leaves the words after the script to it, also --env-file', () => {
    const { embedded } = both([script('commonjs.cjs'), '--env-file=none', '--permission']);
    expect(embedded).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("[ '--env-file=none', '--permission' ]"),
    });
  });

  test('ignores NODE_OPTIONS', () => {
    expect(both(['-p', '1'], { env: { NODE_OPTIONS: '--require=/none.js' } }).embedded).toMatchObject({
      ...{ code: 0, stdout: '1\n' },
    });
  });

  test.skipIf(process.platform === 'win32')('ends by a signal as with Node', async () => {
    const place = placeWithoutNode();
    const endless = place.file('endless.mjs', 'setInterval(() => {}, 1000); console.log("up");');
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      const running = start(['__node', endless], place);
      const ended = new Promise((done) => running.child.once('exit', (_code, by) => done(by)));
      await running.wrote('stdout', 'up');
      running.child.kill(signal);
      expect(await ended).toBe(signal);
    }
  });

  test('starts node by name where PATH has none', () => {
    const place = placeWithoutNode();
    const out = execFileSync(EXECUTABLE, ['__node', script('children.cjs')], { ...place, encoding: 'utf8' });
    expect(out).toContain('execFile null the main file of a package from a module []');
  });
});

/** The lines that name an error, without traces. */
function errorLines(stderr: string): string[] {
  return stderr.split('\n').filter((line) => /^\w*Error\b/.test(line));
}

/** Copies a package with all packages that it needs, as an unpacked download has them. */
function unpack(name: string, folder: string): string {
  const wanted = [name];
  for (const one of wanted) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(PACKAGES, one, 'package.json'), 'utf8'));
    wanted.push(...Object.keys(dependencies).filter((other) => !wanted.includes(other)));
    cpSync(join(PACKAGES, one), join(folder, 'node_modules', one), { recursive: true });
  }
  return join(folder, 'node_modules', name);
}

const FILESYSTEM = join(unpack('@modelcontextprotocol/server-filesystem', unpacked), 'dist', 'index.js');

async function exec(place: Place, servers: object, target: string, ...pairs: string[]) {
  const config = place.file('mcp.json', { mcpServers: servers });
  return run(['exec', target, ...pairs, '--config', config], place);
}

describe('a server with "command": "node" where no Node is on PATH', () => {
  test('the official filesystem server runs from an unpacked folder', async () => {
    const place = placeWithoutNode();
    place.file('note.txt', 'read without a Node');
    const fs = { command: 'node', args: [FILESYSTEM, place.cwd] };
    expect(await exec(place, { fs }, 'fs.read_text_file', `path=${join(place.cwd, 'note.txt')}`)).toEqual({
      ...{ code: 0, stdout: 'read without a Node\n', stderr: '' },
    });
  });

  test.skipIf(process.platform === 'win32')('a script that names node in its first line runs too', async () => {
    const place = placeWithoutNode();
    const { code, stdout } = await exec(place, { own: { command: fixture('plain.cjs'), args: ['a'] } }, 'own.how');
    expect([code, JSON.parse(stdout)]).toEqual([0, [true, EXECUTABLE, ['a']]]);
  });

  test('a Node on the PATH of the server is used, and mcpx.cjs uses the Node that runs it', async () => {
    const place = placeWithoutNode();
    const plain = { command: 'node', args: [fixture('plain.cjs')] };
    const found = { ...plain, env: { PATH: dirname(process.execPath) } };
    expect(JSON.parse((await exec(place, { found }, 'found.how')).stdout)[1]).toBe(process.execPath);
    const config = place.file('mcp.json', { mcpServers: { plain } });
    const cjs = await start(['exec', 'plain.how', '--config', config], place, [process.execPath, BUNDLE]).finished;
    expect(JSON.parse(cjs.stdout)[1]).toBe(process.execPath);
  });

  test('the log says at debug that the Node of mcpx runs the script', async () => {
    const place = placeWithoutNode();
    const own = { command: 'node', args: [fixture('plain.cjs')] };
    const loud = { ...place, env: { ...place.env, MCPX_LOG_LEVEL: 'debug' } };
    const { stderr } = await exec(loud, { own }, 'own.how');
    expect(stderr.match(/no Node on PATH: Node 24\.\d+\.\d+ of mcpx runs the script/g)).toHaveLength(1);
  });

  test('mcpx.cjs in the config does not start itself without end', async () => {
    const place = placeWithoutNode();
    const config = place.file('mcp.json', {});
    const args = [BUNDLE, 'serve', '--config', config];
    writeFileSync(config, JSON.stringify({ mcpServers: { me: { command: 'node', args }, time: { type: 'builtin' } } }));
    const { stdout, stderr } = await run(['tools', '--config', config], place);
    expect(stdout).toContain('me.exec');
    expect(stderr).not.toContain('not available');
  });

  test.each([
    ['a missing script', () => ['nope.js'], /the script ".*nope\.js" does not exist/, 'correct "args"'],
    [
      'a folder without a script',
      (at: string) => [at],
      /is a folder without an index\.js, and without a package\.json whose "main" exists/,
      'correct "args"',
    ],
    [
      'a syntax error',
      () => [BROKEN],
      /syntax-error\.cjs:2 \| const broken = ; \| SyntaxError: Unexpected token ';'/,
      '__node" in place of "node"',
    ],
    [
      'a broken native addon',
      (at: string) => {
        writeFileSync(join(at, 'broken.node'), 'not a library');
        writeFileSync(join(at, 'addon.cjs'), 'require("./broken.node");');
        return [join(at, 'addon.cjs')];
      },
      /native addon ".*broken\.node" cannot be loaded by the Node 24\.\d+\.\d+ inside mcpx/,
      'install Node: mcpx runs scripts with the Node on PATH',
    ],
    [
      'an option that the embedded Node does not have',
      () => ['--permission', 'a.js'],
      /the Node inside mcpx has no option "--permission"/,
      'leave it out, or install Node',
    ],
    ['no script', () => ['--no-warnings'], /node needs a script/, 'put the path of the script into "args"'],
  ])('%s is an error with a hint', async (_, args, message, hint) => {
    const place = placeWithoutNode();
    const { code, stdout, stderr } = await exec(place, { bad: { command: 'node', args: args(place.cwd) } }, 'bad.x');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.split('hint: ')[1]).toContain(hint);
  });

  test('npx without Node: the hint says what needs none', async () => {
    const { code, stderr } = await exec(placeWithoutNode(), { far: { command: 'npx', args: ['-y', 'x'] } }, 'far.x');
    expect(code).toBe(4);
    expect(stderr).toContain('"command": "node" with the path of a script needs no Node on this machine');
  });
});

/** Runs a program in a folder as its root, without network, with its own processes. */
const ISOLATE = ['-n', '-m', '-p', '-f', 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'];
const canIsolate = ['true', 'chroot'].every(
  (program) => spawnSync('unshare', ['-n', '-m', '-p', '-f', program, '--version'], { stdio: 'ignore' }).status === 0,
);

/** The script of a bundle, as its manifest names it, with an argument. */
const ENTRY = '${__dirname}/server/plain.cjs';

/** A folder with the executable, its libraries and the unpacked server, and nothing else that can be run. */
function rootWithoutNode(place: Place) {
  const root = join(place.cwd, 'root');
  for (const folder of ['proc', 'tmp', 'root/files', 'etc/ssl/certs'])
    mkdirSync(join(root, folder), { recursive: true });
  const libraries = execFileSync('ldd', [EXECUTABLE], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
  for (const file of libraries) cpSync(file, join(root, file), { recursive: true, dereference: true });
  cpSync(EXECUTABLE, join(root, 'mcpx'));
  cpSync(unpacked, join(root, 'unpacked'), { recursive: true });
  return {
    file: (name: string, content: string | Buffer) => writeFileSync(join(root, 'root', name), content),
    mcpx(...words: string[]) {
      const { status, stdout, stderr } = spawnSync('unshare', [...ISOLATE, root, '/mcpx', ...words], {
        ...{ env: { HOME: '/root', PATH: '/usr/sbin:/usr/bin:/sbin:/bin', NO_COLOR: '1' }, encoding: 'utf8' },
      });
      return { status, stdout, stderr };
    },
  };
}

describe.skipIf(!canIsolate)(
  'on a machine without Node and without network (needs unshare and chroot, as root)',
  () => {
    test('the official filesystem server runs from an unpacked folder', () => {
      const { file, mcpx } = rootWithoutNode(emptyPlace());
      const args = [FILESYSTEM.replace(unpacked, '/unpacked'), '/root/files'];
      file('files/note.txt', 'read in the chroot');
      file('mcp.json', JSON.stringify({ mcpServers: { fs: { command: 'node', args } } }));
      expect(mcpx('exec', 'fs.read_text_file', 'path=/root/files/note.txt', '--config', '/root/mcp.json')).toEqual({
        ...{ status: 0, stdout: 'read in the chroot\n', stderr: '' },
      });
    });

    test('a bundle of type node is added and runs', () => {
      const { file, mcpx } = rootWithoutNode(emptyPlace());
      const server = {
        type: 'node',
        entry_point: 'server/plain.cjs',
        mcp_config: { command: 'node', args: [ENTRY, 'bundled'] },
      };
      const bundle = buildZip([
        { path: 'manifest.json', content: manifestText({ name: 'plain', server, tools: [], user_config: {} }) },
        { path: 'server/plain.cjs', content: readFileSync(fixture('plain.cjs')) },
      ]);
      file('plain.mcpb', bundle);
      expect(mcpx('add', '/root/plain.mcpb')).toMatchObject({
        status: 0,
        stderr: expect.stringContaining('added server "plain"'),
      });
      const { status, stdout, stderr } = mcpx('exec', 'plain.how');
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(JSON.parse(stdout)).toEqual([true, '/mcpx', ['bundled']]);
    });
  },
);
