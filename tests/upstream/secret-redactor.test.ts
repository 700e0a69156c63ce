/** The redactor: a secret is found by its value, in every form in which it may be quoted. */
import { describe, expect, test } from 'vitest';
import type { ServerSpec } from '../../src/config/config.ts';
import { resolveLaunch } from '../../src/config/env.ts';
import { McpxError, RpcError } from '../../src/errors.ts';
import { createRedactor } from '../../src/upstream/secret-redactor.ts';
import { serversOf } from '../config/world.ts';

const SECRET = 'p/ä "ss+wörd&1';

describe('a secret is not shown', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const { text } = createRedactor([SECRET]);

  test.each([
    ['plain', SECRET],
    ['percent-encoded', encodeURIComponent(SECRET)],
    ['percent-encoded in lower case', encodeURIComponent(SECRET).toLowerCase()],
    ['in a form', new URLSearchParams({ a: SECRET }).toString().slice(2)],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['in HTML', SECRET.replace('&', '&amp;').replace('"', '&quot;')],
  ])('%s', (_form, quoted) => {
    expect(text(`before ${quoted} after ${quoted}`)).toBe('before *** after ***');
  });

  test.each(['', 'a', 'ab', 'abc'])('in Base64 behind "%s:", as Basic credentials are', (user) => {
    const quoted = base64(`${user}:${SECRET}`);
    for (const said of [quoted, quoted.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')]) {
      expect(text(`Basic ${said}`)).toMatch(/^Basic .{0,8}\*\*\*.{0,4}$/);
    }
  });

  test('where it is cut off', () => {
    const redactor = createRedactor(['hunter2-hunter2-hunter2']);
    expect(redactor.text('it wrote "key=hunter2-hun…", which is not MCP')).toBe(
      'it wrote "key=***…", which is not MCP',
    );
    expect(redactor.beginning('key=hunter2-hun')).toBe('key=***');
    expect(redactor.text('a hunter came…')).toBe('a hunter came…');
  });

  test('in errors, their hints, data and causes', () => {
    const redactor = createRedactor(['sesame-open']);
    const cause = Object.assign(new Error('no sesame-open'), { code: 'ENOENT', syscall: 'spawn x' });
    const data = { delivered: false, list: ['sesame-open', { 'sesame-open': 1 }] };
    const error = redactor.error(new McpxError('unreachable', 'a sesame-open', { hint: 'b sesame-open', data, cause }));
    expect(error).toMatchObject({
      ...{ code: 'unreachable', message: 'a ***', hint: 'b ***' },
      data: { delivered: false, list: ['***', { '***': 1 }] },
      cause: { message: 'no ***', code: 'ENOENT', syscall: 'spawn x' },
    });
    const said = redactor.error(new RpcError(-32000, 'sesame-open', 'sesame-open'));
    expect([said.code, said.message, said.data]).toEqual([-32000, '***', '***']);
  });
});

describe('the secrets of an entry', () => {
  const WORLD = { env: {}, home: '/home/me', cwd: '/', platform: 'linux' as const, inheritEnv: 'safe' as const };
  const redacted = (entry: object, said: string, env: Record<string, string> = {}) => {
    const spec = serversOf({ mcpServers: { github: entry } }).get('github') as ServerSpec;
    return createRedactor(resolveLaunch(spec, { ...WORLD, env }).secrets).text(said);
  };

  test.each([
    ['of a variable with any name', { command: 'x', env: { MYSTERY: 'hunter-two' } }, 'a hunter-two b', 'a *** b'],
    ['of a short password', { command: 'x', env: { MYSQL_PASS: 'hunter' } }, 'a hunter b', 'a *** b'],
    ['of a placeholder', { command: 'x', args: ['${T}'] }, 'a hunter-tee b', 'a *** b'],
    ['of a part of an argument', { command: 'x', args: ['--x=a-${T}-b'] }, 'is hunter-tee', 'is ***'],
    ['of JSON', { command: 'x', env: { H: '{"A":{"B":["Bearer hunter-two"]}}' } }, 'got hunter-two', 'got ***'],
    ['of a header', { url: 'https://h.example', headers: { X: 'Bearer hunter-two' } }, 'is hunter-two', 'is ***'],
    ['of a query', { url: 'https://h.example/mcp?k=hunter%20two' }, 'hunter two hunter%20two', '*** ***'],
    ['of a path', { url: 'https://h.example/s/a1b2c3d4e5f6a7b8/mcp' }, 'GET /s/a1b2c3d4e5f6a7b8/mcp', 'GET /s/***/mcp'],
    [
      'of a user',
      { url: 'https://me:hunter@h.example' },
      `${Buffer.from('me:hunter').toString('base64')}`,
      expect.stringContaining('***'),
    ],
    ['of a header in arguments', { command: 'x', args: ['--header', 'X: Bearer hunter-two'] }, 'hunter-two', '***'],
    [
      'of a connection string',
      { command: 'x', env: { DB: 'Server=a;Password=hunter2' } },
      'login hunter2',
      'login ***',
    ],
    [
      'of several lines',
      { command: 'x', env: { PEM: 'BEGIN\nhunter-two-hunter-two\nEND' } },
      'x hunter-two-hunter-two',
      'x ***',
    ],
  ])('are known: that %s', (_which, entry, said, expected) => {
    expect(redacted(entry, said, { T: 'hunter-tee' })).toEqual(expected);
  });

  test.each([
    ['the name of the server', { command: 'x', env: { PASSWORD: 'github' } }, 'server "github" failed'],
    ['a word', { command: 'x', env: { A: 'production', B: 'true', C: 'github' } }, 'production true github'],
    ['a path', { command: 'x', env: { A: '/usr/local/bin' } }, 'no such file /usr/local/bin/x'],
    ['a path in a placeholder', { command: 'x', args: ['${HOME}'] }, 'in /home/someone'],
    [
      'a URL without credentials',
      { command: 'x', env: { A: 'https://api.example.com/v1' } },
      'GET https://api.example.com/v1',
    ],
    ['a host', { command: 'x', env: { A: 'db.example.com' } }, 'no route to db.example.com'],
    [
      'a word of the command',
      { command: 'npx', args: ['-y', 'server-thing'], env: { A: 'server-thing' } },
      'no package server-thing',
    ],
    ['a number', { command: 'x', env: { A: '30000' } }, 'waited 30000'],
  ])('leave messages readable: %s is no secret', (_which, entry, said) => {
    expect(redacted(entry, said, { HOME: '/home/someone' })).toBe(said);
  });
});
