/** The configs in examples/: each is valid without a warning, and its servers start and list their tools. */
import { copyFileSync, cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { emptyPlace, type Place, run, start } from './program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SECRETS = {
  ALICE_TOKEN: 'alice-0123456789',
  CI_TOKEN: 'ci-0123456789',
  ADMIN_TOKEN: 'admin-0123456789',
  MCPX_PASSWORD: 'password-0123456789',
};

/** The examples with the servers of each, per profile. */
const EXAMPLES: [file: string, profiles: Record<string, string[]>][] = [
  ['personal.jsonc', { default: ['files', 'memory', 'time'] }],
  ['team-gateway.jsonc', { default: ['notes', 'everything', 'time'], ci: ['time', 'everything'] }],
  ['read-only.jsonc', { default: ['files', 'memory'], readonly: ['files', 'memory'] }],
  ['air-gapped.jsonc', { default: ['time', 'math', 'memory', 'notes'] }],
  ['behind-nginx/config.jsonc', { default: ['time', 'math'] }],
  ['behind-nginx/oauth.jsonc', { default: ['time', 'math'] }],
  ['local-module/config.jsonc', { default: ['notes'] }],
  ['schemas.json', { default: ['files', 'time'], numbers: ['math'] }],
];

/** An empty place with a copy of the examples. `npx` finds the packages of this checkout and asks no registry. */
function exampleHome(): Place {
  const place = emptyPlace();
  cpSync(join(ROOT, 'examples'), join(place.cwd, 'examples'), { recursive: true });
  copyFileSync(join(ROOT, 'mcpx.schema.json'), join(place.cwd, 'mcpx.schema.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(place.cwd, 'node_modules'), 'junction');
  return { ...place, env: { ...place.env, ...SECRETS, npm_config_offline: 'true' } };
}

test.each(EXAMPLES)('%s is valid, and its servers list their tools', { timeout: 120_000 }, async (file, profiles) => {
  const place = exampleHome();
  const config = ['--config', join('examples', file)];
  const validated = await run(['config', 'validate', '--strict', ...config], place);
  expect(validated.stderr).not.toContain('warning');
  expect(validated.code).toBe(0);
  for (const [profile, servers] of Object.entries(profiles)) {
    const { stdout, code } = await run(['tools', '--json', '--profile', profile, ...config], place);
    const listed: { server: string; tools: unknown[]; error?: string }[] = JSON.parse(stdout);
    expect(listed.map(({ server, error }) => [server, error]).sort()).toEqual(
      servers.map((name) => [name, undefined]).sort(),
    );
    expect(listed.every(({ tools }) => tools.length > 0)).toBe(true);
    expect(code).toBe(0);
  }
});

test('the read-only profile has no tool that writes', { timeout: 120_000 }, async () => {
  const place = exampleHome();
  const args = ['tools', '--json', '--profile', 'readonly', '--config', join('examples', 'read-only.jsonc')];
  const listed: { tools: { name: string }[] }[] = JSON.parse((await run(args, place)).stdout);
  const names = listed.flatMap(({ tools }) => tools.map(({ name }) => name));
  expect(names).toContain('read_text_file');
  expect(names.filter((name) => /write|edit|create|move|delete|add/.test(name))).toEqual([]);
});

test.each(EXAMPLES.filter(([file]) => /team|nginx|schemas/.test(file)).map(([file]) => file))(
  '%s serves as a gateway that wants its tokens',
  { timeout: 120_000 },
  async (file) => {
    const place = exampleHome();
    const env = {
      ...place.env,
      MCPX_HOST: '127.0.0.1',
      ...(file.startsWith('behind-nginx') && { MCPX_TOKEN: SECRETS.CI_TOKEN }),
    };
    const gateway = start(['serve', '--http', '--port', '0', '--config', join('examples', file)], { ...place, env });
    const [, port] = await gateway.wrote('stderr', /127\.0\.0\.1:(\d+)/);
    const health = await fetch(`http://127.0.0.1:${port}/healthz`);
    const status = (token?: string) =>
      fetch(`http://127.0.0.1:${port}/api/status`, token ? { headers: { authorization: `Bearer ${token}` } } : {});
    expect(health.status).toBe(200);
    const open = file === 'schemas.json';
    expect((await status()).status).toBe(open ? 200 : 401);
    expect((await status(SECRETS.CI_TOKEN)).status).toBe(200);
    gateway.child.kill('SIGTERM');
    expect((await gateway.finished).code).toBe(0);
  },
);
