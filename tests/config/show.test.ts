/** `config show`: the normalised config without its secrets, which says the same when it is loaded again. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ServerSpec } from '../../src/config/config.ts';
import { maskArgs, maskText, maskValue } from '../../src/config/redact.ts';
import { maskSource } from '../../src/config/redacted-source.ts';
import { describeConfig, describeServer, redactSpec } from '../../src/config/show.ts';
import { STARTER } from '../../src/config/starter.ts';
import { brief, createHome, serversOf } from './world.ts';

const SHAPES = join(import.meta.dirname, '..', 'fixtures', 'config', 'shapes');

test.each(readdirSync(SHAPES).filter((name) => !name.includes('.expected.')))(
  '%s, shown and loaded again, says the same but for values of variables and headers',
  (name) => {
    const home = createHome();
    const config = home.load({ files: [home.write(name, readFileSync(join(SHAPES, name), 'utf8'))] });
    const shown = describeConfig(config);
    const again = home.load({ files: [home.write('again.json', shown)] });
    const [first, second] = [config, again].map((one) => {
      const { profiles, settings } = brief({ ...one, warnings: [] });
      return JSON.parse(
        JSON.stringify({ profiles, settings }).replaceAll(/"(file|path)":("[^"]*"|\[[^\]]*\])/g, '"$1":0'),
        (key, value) => (key === 'env' || key === 'headers' ? Object.keys(value) : value),
      );
    });
    expect(second).toEqual(first);
  },
);

describe('secrets', () => {
  function shown(entry: object): Record<string, unknown> {
    return describeServer(serversOf({ mcpServers: { a: entry } }).get('a') as ServerSpec);
  }

  test('in variables and headers are starred out, placeholders and values that are known to be harmless are not', () => {
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
        AUTHOR: '***',
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
    ['@modelcontextprotocol/server-filesystem', '@modelcontextprotocol/server-filesystem'],
    ['https://example.com/v1/mcp', 'https://example.com/v1/mcp'],
    ['https://example.com/s/550e8400-e29b-41d4-a716-446655440000/mcp', 'https://example.com/s/***/mcp'],
    ['https://example.com/s/Zm9vYmFyMTIzNDU2Nzg5MA/mcp?x=1', 'https://example.com/s/***/mcp?x=1'],
    ['https://example.com/mcp?profile=hunter-two&key=a', 'https://example.com/mcp?profile=***&key=***'],
    ['https://example.com/gmail/quiet-faint-car-f6g1zk', 'https://example.com/gmail/***'],
    ['https://example.com/p/s3cr3t/hunter2secret/mcp', 'https://example.com/p/***/***/mcp'],
    ['https://example.com/token/hunter2/mcp', 'https://example.com/token/***/mcp'],
    ['https://example.com/key=hunter2/a', 'https://example.com/key=***/a'],
    ['https://example.com/@upstash/context7-mcp/v1beta1', 'https://example.com/@upstash/context7-mcp/v1beta1'],
    ['https://example.com/oauth/token/mcp', 'https://example.com/oauth/token/mcp'],
    ['https://abcdef@example.com/mcp', 'https://***@example.com/mcp'],
    ['https://example.com/${ID}/mcp?key=${KEY}', 'https://example.com/${ID}/mcp?key=${KEY}'],
    ['/usr/local/lib/node_modules/server/index.js', '/usr/local/lib/node_modules/server/index.js'],
  ])('the argument or URL %s is shown as %s', (value, expected) => {
    expect(maskText(value)).toBe(expected);
  });

  test.each([
    ['MYSQL_PASS', 'hunter', '***'],
    ['SMTP_PASS', 'a', '***'],
    ['DB', 'hunter two', '***'],
    [
      'OPENAPI_MCP_HEADERS',
      '{"Authorization": "Bearer abc", "Accept": "text/plain"}',
      '{"Authorization": "Bearer ***", "Accept": "text/plain"}',
    ],
    [
      'OPENAPI_MCP_HEADERS',
      '{"Authorization":"Bearer ${TOKEN}","X":"a\\"b"}',
      '{"Authorization":"Bearer ${TOKEN}","X":"***"}',
    ],
    ['DATABASE_URL', 'postgres://me:pw@db.example.com:5432/app', 'postgres://me:***@db.example.com:5432/app'],
    ['BASE_URL', 'https://api.example.com', 'https://api.example.com'],
    ['REMOTE', '//me:hunter@db.example.com/app', '***'],
    ['NODE_ENV', 'production', 'production'],
    ['PORT', '8080', '8080'],
    ['CACHE_DIR', '/var/cache/x', '/var/cache/x'],
    ['AWS_REGION', 'eu-central-1', 'eu-central-1'],
    ['AWS_THING', '/Kx9vQ2mZ7pL4tR8wY1nB5cD3', '***'],
    ['ROOTS', '${userHome}/work', '${userHome}/work'],
    ['X', '${A:-hunter}', '${A:-***}'],
    ['X', '${LEVEL:-debug}', '${LEVEL:-debug}'],
  ])('the variable %s=%s is shown as %s', (name, value, expected) => {
    expect(maskValue(name, value)).toBe(expected);
  });

  test.each([
    [
      ['--header', 'Authorization: Bearer abc'],
      ['--header', 'Authorization: Bearer ***'],
    ],
    [
      ['-H', 'X-Team: hunter'],
      ['-H', 'X-Team: ***'],
    ],
    [['--header=X-Api-Key: abc'], ['--header=X-Api-Key: ***']],
    [
      ['-e', 'API_KEY=abc', '-e', 'NAME', 'image'],
      ['-e', 'API_KEY=***', '-e', 'NAME', 'image'],
    ],
    [
      ['print.cjs', 'Bearer zzqqzzqqzzqq', 'Bearer ${TOKEN}', 'token of x'],
      ['print.cjs', 'Bearer ***', 'Bearer ${TOKEN}', 'token of x'],
    ],
    [
      ['--port=80', '--name', 'me', '-y'],
      ['--port=80', '--name', 'me', '-y'],
    ],
    [
      ['--api-key=${KEY}', '--token', '${T}'],
      ['--api-key=${KEY}', '--token', '${T}'],
    ],
  ])('the arguments %j are shown as %j', (args, expected) => {
    expect(maskArgs(args)).toEqual(expected);
  });

  test.each([
    ['"token": "abcdef", "x": 1', '"token": "******", "x": 1'],
    ['"Authorization": "Bearer abcd"', '"Authorization": "Bearer ****"'],
    ['"A_SECRET": "${X}"', '"A_SECRET": "${X}"'],
    ['"args": ["--password", "hunter2", "--pat=abc"]', '"args": ["--password", "*******", "--pat=***"]'],
    ['"PASSWORD": "unfinished', '"PASSWORD": "**********'],
    ['"url": "https://u:pw@host"', '"url": "https://u:**@host"'],
    ['"x": "ghp_0123456789abcdefghij0123"', '"x": "****************************"'],
    ['"env": ["A=hunter", "hunter2"]', '"env": ["A=******", "*******"]'],
    ['"env": {"type": "hunter2", "a": {"name": "x y z"}}', '"env": {"type": "*******", "a": {"name": "*****"}}'],
    ['"env": "A=hunter"', '"env": "A=******"'],
    ['"env": "hunter2"', '"env": "*******"'],
    ['"environment": "{\\"A\\":\\"hunter2"', '"environment": "****************"'],
    ['"env": {"REDIS_URL": "redis://:hunter2@host/0"}', '"env": {"REDIS_URL": "redis://:*******@host/0"}'],
    ['"env": ["DB=postgres://me:hunter2@host/db"]', '"env": ["DB=postgres://me:*******@host/db"]'],
    ['"headers": {"X": "https://host/a?key=hunter2"}', '"headers": {"X": "https://host/a?key=*******"}'],
    ['"http": {"tokens": ["hunter2", {"token": 12345678}]}', '"http": {"tokens": ["*******", {"token": ********}]}'],
    ['"tokens": {"me": "true-secret", "hunter": "me"}', '"tokens": {"**": "***********", "******": "**"}'],
    ['"command": "npx", "headers": "X-Key: abc"', '"command": "npx", "headers": "X-Key: ***"'],
    ['"key" "hunter2"', '"***" "*******"'],
    ['token: hunter2', 'token: *******'],
    ["'token': 'hunter2'", "'token': '*******'"],
    ['"a": 1 // old: hunter2', '"a": 1 // **** *******'],
    ['"mystery": "a\\"b"', '"mystery": "****"'],
    ['{"level": "info", "timeout": "60 sec"}', '{"level": "info", "timeout": "60 sec"}'],
  ])('a quoted line %s keeps its columns', (line, expected) => {
    expect(maskSource(line)).toBe(expected);
    expect(expected).toHaveLength(line.length);
  });

  test('on lines of their own are hidden by what stands on the lines before', () => {
    const text = '{"mcpServers": {"a": {\n"args": [\n"--token",\n"hunter2"\n], "env":\n{\n"MYSTERY":\n"hunter3"';
    expect(maskSource(text).split('\n').slice(3)).toEqual(['"*******"', '], "env":', '{', '"MYSTERY":', '"*******"']);
  });

  test('are not looked for in the comments of the first config, but in all others', () => {
    const text = STARTER.replace('"time"', '"clock"');
    const changed = text.split('\n').findIndex((line) => line.includes('"clock"'));
    expect(maskSource(STARTER)).toBe(STARTER);
    expect(maskSource(text).split('\n')[changed]).toBe('    // ******** * ******* ********* **');
  });
});
