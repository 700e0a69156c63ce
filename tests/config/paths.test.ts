/** First run: what is written, with which modes, and by how many processes at once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { schemaText } from '../../src/config/json-schema.ts';
import { loadConfig } from '../../src/config/load.ts';
import { STARTER } from '../../src/config/starter.ts';
import { createHome, type Home } from './world.ts';

function firstRun(home: Home, env: Record<string, string> = {}) {
  return loadConfig({ env, home: home.folder, cwd: home.folder, bootstrap: true });
}

const modeOf = (file: string): number => statSync(file).mode & 0o777;
const onPosix = test.runIf(process.platform !== 'win32');

describe('the first run', () => {
  test('writes a commented config and its schema, says so, and loads it', () => {
    const home = createHome();
    const { config, created } = firstRun(home);
    expect(created).toBe(home.path('.mcpx/config.json'));
    expect(config.files).toEqual([created]);
    expect(config.warnings).toEqual([]);
    expect(readFileSync(home.path('.mcpx/config.json'), 'utf8')).toBe(STARTER);
    expect(readFileSync(home.path('.mcpx/mcpx.schema.json'), 'utf8')).toBe(schemaText());
    expect(readdirSync(home.path('.mcpx')).sort()).toEqual(['config.json', 'mcpx.schema.json']);
  });

  onPosix('folder 0700, files 0600, whatever the umask', () => {
    const home = createHome();
    const before = process.umask(0o077);
    try {
      firstRun(home);
    } finally {
      process.umask(before);
    }
    expect(
      [home.path('.mcpx'), home.path('.mcpx/config.json'), home.path('.mcpx/mcpx.schema.json')].map(modeOf),
    ).toEqual([0o700, 0o600, 0o600]);
  });

  test('the second run writes nothing', () => {
    const home = createHome();
    firstRun(home);
    home.write('.mcpx/config.json', '{"mcpServers": {"a": {"command": "x"}}}');
    const { config, created } = firstRun(home);
    expect(created).toBeUndefined();
    expect(config.profiles[0]?.servers).toHaveLength(1);
  });

  test('without being asked, nothing is written', () => {
    const home = createHome();
    home.load();
    expect(readdirSync(home.folder)).toEqual([]);
  });

  test('an older program’s config is used and not replaced', () => {
    const home = createHome();
    home.write('.mcps-proxy/config.json', {});
    expect(firstRun(home).created).toBeUndefined();
    expect(readdirSync(home.folder)).toEqual(['.mcps-proxy']);
  });

  test('MCPX_HOME is where it is written', () => {
    const home = createHome();
    expect(firstRun(home, { MCPX_HOME: home.path('deep/er') }).created).toBe(home.path('deep/er/config.json'));
  });

  test('where nothing can be written it warns and runs', () => {
    const home = createHome();
    writeFileSync(home.path('.mcpx'), 'a file where the folder should be');
    const { config, created } = firstRun(home);
    expect(created).toBeUndefined();
    expect(config.profiles[0]?.servers).toEqual([]);
    expect(config.warnings[0]?.message).toContain('could not be written');
    expect(config.warnings[0]?.hint).toContain('MCPX_HOME');
  });

  onPosix('a schema file that exists is left alone', () => {
    const home = createHome();
    mkdirSync(home.path('.mcpx'));
    chmodSync(home.path('.mcpx'), 0o755);
    home.write('.mcpx/mcpx.schema.json', 'mine');
    firstRun(home);
    expect(readFileSync(home.path('.mcpx/mcpx.schema.json'), 'utf8')).toBe('mine');
    expect(modeOf(home.path('.mcpx'))).toBe(0o755);
  });
});

test('the examples in the default config are right: uncommented, they load without a warning', () => {
  const home = createHome();
  const text = STARTER.replace(/^( *)\/\/ (?=")/gm, '$1');
  expect(text).not.toBe(STARTER);
  const config = home.load({ files: [home.write('config.json', text)], strict: true });
  expect(config.profiles.map(({ name }) => name)).toEqual(['default', 'readonly']);
  expect(config.profiles[0]?.servers.map(({ name }) => name)).toEqual(['filesystem', 'github', 'time']);
  expect(config.warnings).toEqual([]);
});

test('two processes that start at once both succeed, and one of them wrote the file', async () => {
  const home = createHome();
  const program = home.path('boot.cjs');
  await build({
    stdin: {
      contents: `import { loadConfig } from './src/config/load.ts';
        process.stdin.once('data', () => {
          const { config, created } = loadConfig({ bootstrap: true });
          process.stdout.write(JSON.stringify({ files: config.files, created: created !== undefined }));
          process.stdin.destroy();
        });
        process.stdout.write('ready\\n');`,
      resolveDir: join(import.meta.dirname, '..', '..'),
      loader: 'ts',
    },
    ...{
      bundle: true,
      platform: 'node',
      format: 'cjs',
      mainFields: ['module', 'main'],
      outfile: program,
      logLevel: 'error',
    },
  });

  for (let round = 0; round < 5; round += 1) {
    const folder = home.path(`round-${round}`);
    const children = [1, 2, 3, 4].map(() =>
      spawn(process.execPath, [program], { env: { MCPX_HOME: folder, HOME: home.folder } }),
    );
    const outputs = children.map(() => '');
    await Promise.all(children.map((child) => once(child.stdout, 'data')));
    children.forEach((child, index) => {
      child.stdout.on('data', (chunk) => {
        outputs[index] += chunk;
      });
    });
    for (const child of children) child.stdin.write('go\n');
    const exits = await Promise.all(children.map((child) => once(child, 'close')));
    expect(exits.map(([code]) => code)).toEqual([0, 0, 0, 0]);
    const answers = outputs.map((output) => JSON.parse(output));
    expect(answers.map(({ files }) => files)).toEqual(Array(4).fill([join(folder, 'config.json')]));
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'mcpx.schema.json']);
    expect(readFileSync(join(folder, 'config.json'), 'utf8')).toBe(STARTER);
    rmSync(folder, { recursive: true });
  }
});
