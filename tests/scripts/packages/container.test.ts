/** The files for containers and services name commands, options and paths that exist, and agree with one another. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { longName, nameOf } from '../../../src/cli/command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from '../../../src/cli/commands.ts';
import { DEFAULTS } from '../../../src/config/config.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const PORT = DEFAULTS.http.port;

/** Throws if a command line has a command or an option that mcpx does not have. */
function checkCommand(words: readonly string[]): void {
  const command = COMMANDS.find(({ usage }) => nameOf(usage) === words[0]);
  const known = [...(command?.options ?? []), ...GLOBAL_OPTIONS].map(({ flags }) => `--${longName(flags)}`);
  expect(command, words.join(' ')).toBeDefined();
  expect(words.filter((word) => word.startsWith('--') && !known.includes(word))).toEqual([]);
}

describe('the Dockerfile', () => {
  const stages = read('packaging/Dockerfile')
    .split(/^FROM /m)
    .slice(1);
  const images = stages.filter((stage) => stage.includes('ENTRYPOINT'));
  const list = (stage: string, name: string): string[] =>
    JSON.parse(new RegExp(`^.*${name} (\\[.*\\])$`, 'm').exec(stage)?.[1] ?? '[]');

  test('has one image with mcpx alone, and one with node and uv', () => {
    expect(images).toHaveLength(2);
    const [full = '', alone = ''] = images;
    expect(full).toMatch(/^node:\d+\S* AS full\n/);
    expect(full).toContain('COPY --from=uv /uv /uvx');
    expect(alone).toMatch(/^gcr\.io\/distroless\/cc-debian\d+:nonroot\n/);
    // A distroless image has no shell, so that RUN would fail.
    expect(alone).not.toMatch(/^RUN /m);
    expect(full).toMatch(/^USER node$/m);
  });

  test.each(images.map((stage) => [stage.split('\n')[0], stage]))(
    '%s runs commands that exist, with a health check',
    (_name, stage) => {
      checkCommand(list(stage.match(/^CMD.*$/m)?.[0] ?? '', 'CMD'));
      const [, ...health] = list(stage.match(/^HEALTHCHECK.*$/m)?.[0] ?? '', 'CMD');
      checkCommand(health);
      // Without an address, the command takes the port of the config.
      expect(health).toEqual(['status']);
      expect(stage).toMatch(new RegExp(`^EXPOSE ${PORT}$`, 'm'));
    },
  );
});

describe('compose.yaml', () => {
  const { services, volumes } = parse(read('packaging/compose.yaml'));
  const { mcpx } = services;

  test('mounts the config read-only, and nothing else of the image can be written', () => {
    expect(mcpx.volumes).toEqual(['./config:/config:ro', 'data:/data']);
    expect(Object.keys(volumes)).toEqual(['data']);
    expect([mcpx.read_only, mcpx.cap_drop]).toEqual([true, ['ALL']]);
  });

  test('checks the health with a command that exists, and wants a token', () => {
    const [, , ...words] = mcpx.healthcheck.test;
    checkCommand(words);
    expect(mcpx.environment.MCPX_TOKEN).toContain(':?');
    expect(mcpx.ports).toEqual([`127.0.0.1:${PORT}:${PORT}`]);
    expect(read('packaging/Dockerfile')).toContain(`AS ${mcpx.build.target}\n`);
  });
});

test('the service runs a command that exists, and keeps its state where it may write', () => {
  const text = read('packaging/mcpx.service');
  const [, line = ''] = /^ExecStart=\/usr\/bin\/mcpx (.*)$/m.exec(text) ?? [];
  checkCommand(line.split(' '));
  expect(text).toContain('MCPX_HOME=/var/lib/mcpx');
  expect(text).toMatch(/^StateDirectory=mcpx$/m);
  expect(text).toMatch(/^ExecReload=\/bin\/kill -HUP/m);
});

test('the proxies in the examples lead to the port of their config, and do not buffer', () => {
  const nginx = read('examples/behind-nginx/nginx.conf');
  const caddy = read('examples/behind-nginx/Caddyfile');
  expect(nginx).toContain(`proxy_pass http://127.0.0.1:${PORT};`);
  expect(caddy).toContain(`reverse_proxy 127.0.0.1:${PORT}`);
  expect(nginx).toContain('proxy_buffering off;');
  expect(caddy).toContain('flush_interval -1');
  for (const text of [nginx, caddy]) expect(text.split('{').length).toBe(text.split('}').length);
});

test('every file that docs/deployment.md links to is there', () => {
  const files = [...read('docs/deployment.md').matchAll(/\]\(\.\.\/([\w./-]+)\)/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(8);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});
