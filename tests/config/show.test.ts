/** `config show`: the normalised config without its secrets, which says the same when it is loaded again. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ServerSpec } from '../../src/config/config.ts';
import { maskLine, maskValue } from '../../src/config/redact.ts';
import { describeConfig, describeServer, redactSpec } from '../../src/config/show.ts';
import { brief, createHome, serversOf } from './world.ts';

const SHAPES = join(import.meta.dirname, '..', 'fixtures', 'config', 'shapes');

test.each(readdirSync(SHAPES).filter((name) => !name.includes('.expected.')))(
  '%s, shown and loaded again, says the same',
  (name) => {
    const home = createHome();
    const config = home.load({ files: [home.write(name, readFileSync(join(SHAPES, name), 'utf8'))] });
    const shown = describeConfig(config);
    const again = home.load({ files: [home.write('again.json', shown)] });
    const [first, second] = [config, again].map((one) => {
      const { profiles, settings } = brief({ ...one, warnings: [] });
      return JSON.parse(
        JSON.stringify({ profiles, settings }).replaceAll(/"(file|path)":("[^"]*"|\[[^\]]*\])/g, '"$1":0'),
      );
    });
    expect(second).toEqual(first);
  },
);

describe('secrets', () => {
  function shown(entry: object): Record<string, unknown> {
    return describeServer(serversOf({ mcpServers: { a: entry } }).get('a') as ServerSpec);
  }

  test('in variables and headers are starred out, placeholders and plain values are not', () => {
    const env = {
      API_KEY: 'k1',
      GITHUB_TOKEN: '${GITHUB_TOKEN}',
      DB_PASSWORD: 'pre${X}post',
      LOG_LEVEL: 'debug',
      AUTHOR: 'me',
      A: null,
    };
    expect(shown({ command: 'x', env })).toEqual({
      type: 'stdio',
      command: 'x',
      env: {
        API_KEY: '***',
        GITHUB_TOKEN: '${GITHUB_TOKEN}',
        DB_PASSWORD: '***${X}***',
        LOG_LEVEL: 'debug',
        AUTHOR: 'me',
        A: null,
      },
    });
    const headers = { Authorization: 'Bearer abc', Cookie: 'a=b', 'X-Api-Key': '${K:-fallback}', Accept: 'text/plain' };
    expect(shown({ url: 'https://example.com', headers })).toEqual({
      type: 'auto',
      url: 'https://example.com',
      headers: { Authorization: 'Bearer ***', Cookie: '***', 'X-Api-Key': '${K:-***}', Accept: 'text/plain' },
    });
  });

  test('in arguments, URLs and OAuth clients too', () => {
    const args = [
      '--token',
      'abc',
      '--api-key=def',
      '--verbose',
      'x',
      'ghp_0123456789abcdefghij0123',
      'postgres://me:pw@host/db',
    ];
    expect(shown({ command: 'x', args }).args).toEqual([
      ...['--token', '***', '--api-key=***', '--verbose', 'x', '***', 'postgres://me:***@host/db'],
    ]);
    expect(
      shown({
        url: 'https://example.com/mcp?api_key=abc&x=1',
        oauth: { clientId: 'id', clientSecret: 's', scopes: ['a'] },
      }),
    ).toMatchObject({
      url: 'https://example.com/mcp?api_key=***&x=1',
      oauth: { clientId: 'id', clientSecret: '***', scopes: ['a'] },
    });
  });

  test('in HTTP tokens as well', () => {
    const home = createHome();
    const tokens = [
      { name: 'a', token: 'literal' },
      { name: 'b', token: '${B}' },
    ];
    const config = home.load({ files: [home.write('config.json', { http: { auth: { tokens } } })] });
    expect(describeConfig(config)).toMatchObject({ http: { auth: { tokens: [{ token: '***' }, { token: '${B}' }] } } });
  });

  test('are never taken out of the config itself', () => {
    const spec = serversOf({ mcpServers: { a: { command: 'x', env: { TOKEN: 'abc' } } } }).get('a') as ServerSpec;
    redactSpec(spec);
    expect(spec).toMatchObject({ env: { TOKEN: 'abc' } });
  });

  test.each([
    ['sk-abcdefghijklmnopqrst', '***'],
    ['xoxb-1234567890-abc', '***'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc', '***'],
    ['a sk-abcdefghijklmnopqrst b', 'a *** b'],
    ['sketch-of-a-thing', 'sketch-of-a-thing'],
  ])('%s is known by its look', (value, expected) => {
    expect(maskValue('anything', value)).toBe(expected);
  });

  test.each([
    ['"token": "abcdef", "x": 1', '"token": "******", "x": 1'],
    ['"Authorization": "Bearer abcd"', '"Authorization": "Bearer ****"'],
    ['"A_SECRET": "${X}"', '"A_SECRET": "${X}"'],
    ['"args": ["--password", "hunter2", "--pat=abc"]', '"args": ["--password", "*******", "--pat=***"]'],
    ['"PASSWORD": "unfinished', '"PASSWORD": "**********'],
    ['"url": "https://u:pw@host"', '"url": "https://u:**@host"'],
    ['"x": "ghp_0123456789abcdefghij0123"', '"x": "****************************"'],
  ])('a quoted line %s keeps its columns', (line, expected) => {
    expect(maskLine(line)).toBe(expected);
    expect(expected).toHaveLength(line.length);
  });
});
