/** The setting `offline` for programs: launchers of other programs download nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveLaunch } from '../../../src/config/env.ts';
import { stayOffline } from '../../../src/upstream/lifecycle/offline.ts';
import { cleanup, connection, SETTINGS, stdioSpec } from '../world.ts';

function offline(command: string, args: string[], env: Record<string, string> = {}) {
  const spec = stdioSpec(command, args, { env });
  const { secrets: _, ...launch } = resolveLaunch(spec, { inheritEnv: 'none' });
  const changed = stayOffline(spec, launch);
  return changed.type === 'stdio' ? { env: changed.env, args: changed.args } : undefined;
}

test.each<[command: string, args: string[], variables: object]>([
  ['npx', ['-y', 'server'], { npm_config_offline: 'true' }],
  ['cmd', ['/c', 'npx', '-y', 'server'], { npm_config_offline: 'true' }],
  ['npm', ['exec', 'server'], { npm_config_offline: 'true' }],
  ['pnpm', ['dlx', 'server'], { npm_config_offline: 'true', pnpm_config_offline: 'true' }],
  ['uvx', ['server'], { UV_OFFLINE: '1' }],
  ['uv', ['tool', 'run', 'server'], { UV_OFFLINE: '1' }],
  ['go', ['run', 'example.com/server@latest'], { GOPROXY: 'off', GOTOOLCHAIN: 'local' }],
])('%s %j uses its cache only', (command, args, variables) => {
  expect(offline(command, args, { KEY: 'kept' })).toEqual({ args, env: { KEY: 'kept', ...variables } });
});

test('a variable of the entry that says otherwise is replaced, in any case', () => {
  expect(offline('npx', ['x'], { NPM_CONFIG_OFFLINE: 'false' })?.env).toEqual({ npm_config_offline: 'true' });
});

test.each(['docker', 'podman', 'nerdctl'])('%s runs an image that is there, and pulls none', (engine) => {
  const { args } = offline(engine, ['--debug', 'run', '-i', '--rm', 'image', 'run']) ?? {};
  expect(args).toEqual(['--debug', 'run', '--pull=never', '-i', '--rm', 'image', 'run']);
  expect(() => offline(engine, ['run', '--pull=always', 'image'])).toThrow('its "args" have "--pull=always"');
  expect(offline(engine, ['run', '--pull=never', 'image'])?.args).toContain('--pull=never');
});

test.each([
  ['bunx', ['server']],
  ['yarn', ['dlx', 'server']],
])('%s %j is not started, because it cannot be kept from downloading', (command, args) => {
  expect(() => offline(command, args)).toThrow(`mcpx is offline, and ${command} has no offline mode`);
});

test('other programs are started as they are', () => {
  expect(offline('docker', ['exec', '-i', 'x', 'server'])?.args).toEqual(['exec', '-i', 'x', 'server']);
  expect(offline('node', ['server.js'])).toEqual({ args: ['server.js'], env: {} });
});

test('a launcher that is not installed has the hint to install it', async () => {
  const env = { PATH: '/nowhere' };
  const upstream = connection(stdioSpec('uvx', ['server'], { env }), { settings: { ...SETTINGS, offline: true } });
  const error = await upstream.connect().catch((reason) => reason);
  expect(error.hint).toMatch(/^install "uvx"/);
});

test('the real npx with an empty cache fails at once, and the hint says why', async () => {
  const cache = await mkdtemp(join(tmpdir(), 'mcpx-npm-'));
  cleanup(() => rm(cache, { recursive: true, force: true }));
  const env = { npm_config_cache: cache, npm_config_update_notifier: 'false' };
  const upstream = connection(stdioSpec('npx', ['-y', '@mcpx-test/never-published'], { env }), {
    settings: { ...SETTINGS, offline: true },
  });
  const error = await upstream.connect().catch((reason) => reason);
  expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining('only-if-cached') });
  expect(error.fault).toBe('exited');
  expect(error.hint).toBe('offline, npx uses only what it has stored: start the server once with "offline": false');
});
