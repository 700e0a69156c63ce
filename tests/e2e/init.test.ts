/** A newcomer's walk: three clients with servers, one command, and everything goes through mcpx. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { EXECUTABLE, emptyPlace, type Place, run, serverScript } from './program.ts';

const SECRET = 'sk-live-abcdefgh12345678abcd';
const node = process.execPath;

/** Writes a file of a client into the home of the place. */
function write(place: Place, path: string, text: string): string {
  const file = join(place.env.HOME ?? '', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

function threeClients(place: Place): string[] {
  const memory = { command: node, args: [serverScript('server-memory')], env: { API_TOKEN: SECRET } };
  return [
    write(place, '.cursor/mcp.json', `{\n    // mine\n    "mcpServers": { "memory": ${JSON.stringify(memory)} }\n}\n`),
    write(
      place,
      '.codex/config.toml',
      `model = "x" # mine\n\n[mcp_servers.everything]\ncommand = ${JSON.stringify(node)}\nargs = [${JSON.stringify(serverScript('server-everything'))}]\n`,
    ),
    write(
      place,
      '.config/goose/config.yaml',
      `# mine\nextensions:\n  files:\n    type: stdio\n    cmd: ${node}\n    args: [${JSON.stringify(serverScript('server-filesystem'))}, ${JSON.stringify(place.cwd)}]\n    enabled: true\n`,
    ),
  ];
}

const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

test('mcpx init --yes brings the servers of three clients behind mcpx, and undo restores the clients', async () => {
  const place = emptyPlace();
  const files = threeClients(place);
  const before = files.map(digest);

  const shown = await run(['init', '--print'], place);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('"mcpx": {');
  expect(shown.stdout + shown.stderr).not.toContain(SECRET);
  expect(files.map(digest)).toEqual(before);
  expect(existsSync(join(place.env.HOME ?? '', '.mcpx', 'config.json'))).toBe(false);

  const unasked = await run(['init'], place);
  expect(unasked.code).toBe(1);
  expect(unasked.stderr).toContain('hint: add --yes to make them, or --print to see them');
  expect(files.map(digest)).toEqual(before);

  const made = await run(['init', '--yes', '--move-secrets'], place);
  expect(made.code).toBe(0);
  expect(made.stdout).toMatch(
    /^tokens that a model reads before the first question: ≈ [\d,]+ without mcpx, ≈ [\d,]+ with mcpx, [\d.]+ % less\n$/,
  );
  expect(made.stderr).toContain('imported 3 servers');
  expect(made.stderr).toContain('mcpx setup --all --undo restores the files of the clients');
  expect(made.stdout + made.stderr).not.toContain(SECRET);
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    expect(text).toContain(EXECUTABLE);
    expect(text).toContain('mine');
    expect(text).not.toMatch(/server-(?:memory|everything|filesystem)/);
  }
  const secrets = join(place.env.HOME ?? '', '.mcpx', 'secrets.env');
  expect(readFileSync(secrets, 'utf8')).toContain(SECRET);
  if (process.platform !== 'win32') expect(statSync(secrets).mode & 0o777).toBe(0o600);

  const list = await run(['list', '--json'], place);
  expect(
    JSON.parse(list.stdout)
      .map(({ name }: { name: string }) => name)
      .sort(),
  ).toEqual(['everything', 'files', 'memory']);
  expect((await run(['list'], place)).stdout).toMatch(/^memory +stdio +worked just now +9 tools/m);
  const examined = await run(['doctor', '--clients'], place);
  expect(examined.code).toBe(0);
  expect(examined.stdout.match(/ready +spawn \d+ ms, initialize \d+ ms, list \d+ ms, \d+ tools/g)).toHaveLength(3);
  expect(examined.stdout.match(/: connected$/gm)).toHaveLength(3);
  expect(examined.stdout).not.toMatch(/error:|still starts/);
  const called = await run(['exec', 'everything.echo', 'message=hello'], place);
  expect(called.stdout).toContain('hello');

  const again = await run(['init', '--yes'], place);
  expect(again.stderr).toContain('nothing has to be changed');

  const undone = await run(['setup', '--all', '--undo'], place);
  expect(undone.code).toBe(0);
  expect(undone.stderr.match(/restored byte for byte/g)).toHaveLength(3);
  expect(files.map(digest)).toEqual(before);
});

test('without a client and a server, mcpx init begins with the demo servers', async () => {
  const place = emptyPlace();
  const made = await run(['init', '--yes'], place);
  expect(made.code).toBe(0);
  expect(made.stderr).toContain('no client was found');
  expect(made.stderr).toContain('demo servers');
  const called = await run(['exec', 'math.calculate', 'expression=6*7'], place);
  expect(called.stdout).toContain('42');
  const again = await run(['init', '--yes'], place);
  expect(again.stderr).toContain('nothing has to be changed\n');
  expect(again.stderr).not.toContain('connected to every client');
});

test('the files of two clients that cannot be read or written do not keep the third from being connected', async () => {
  const place = emptyPlace();
  const [cursor = '', codex = '', goose = ''] = threeClients(place);
  chmodSync(cursor, 0o444);
  writeFileSync(codex, '[mcp_servers.x\n');
  const made = await run(['init', '--yes'], place);
  expect(made.code).toBe(1);
  expect(made.stderr).toContain(`error: "${cursor}" is read-only`);
  expect(made.stderr).toMatch(/warning: Codex is left out: .*config\.toml:1:\d+: the file is not valid TOML/);
  expect(readFileSync(goose, 'utf8')).toContain(EXECUTABLE);
  expect(readFileSync(codex, 'utf8')).toBe('[mcp_servers.x\n');
});

test('one client is connected, also in the scope of a project, and stdin is imported', async () => {
  const place = emptyPlace();
  const project = await run(['setup', 'cursor', '--scope', 'project', '--yes'], place);
  expect(project.code).toBe(0);
  expect(JSON.parse(readFileSync(join(place.cwd, '.cursor', 'mcp.json'), 'utf8')).mcpServers.mcpx.args).toEqual([
    'serve',
  ]);
  const printed = await run(['setup', 'vscode', '--print'], place);
  expect(printed.stdout).toContain('+  "servers": {');
  const file = place.file('client.toml', '[mcp_servers.a]\ncommand = "x"\n');
  const imported = await run(['import', file, '--yes'], place);
  expect(imported.stderr).toContain('imported 1 server');
  const wrong = await run(['setup', 'coursor'], place);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('hint: did you mean "cursor"?');
});
