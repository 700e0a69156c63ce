/** The words of `mcpx add`: what they mean, and which command line is proposed for wrong ones. */
import { describe, expect, test } from 'vitest';
import { intendedUrl, readAddRequest, readAnswer, readHeader, readVariable } from '../../src/cli/add-request.ts';

const read = (before: string[], passed?: string[], type?: string) => readAddRequest({ before, passed, type });

test.each<[string[], string[] | undefined, string | undefined, unknown]>([
  [
    ['x'],
    ['npx', '-y', 'a', '--name', '007'],
    undefined,
    { kind: 'command', name: 'x', command: 'npx', args: ['-y', 'a', '--name', '007'] },
  ],
  [
    ['x'],
    ['node', '--', '', 'camelCase=1'],
    undefined,
    { kind: 'command', name: 'x', command: 'node', args: ['--', '', 'camelCase=1'] },
  ],
  [['x', 'https://a.example/mcp'], undefined, 'sse', { kind: 'url', name: 'x', url: 'https://a.example/mcp' }],
  [['x', 'ws://localhost:1/'], undefined, undefined, { kind: 'url', name: 'x', url: 'ws://localhost:1/' }],
  [['./server.json'], undefined, undefined, { kind: 'registry', name: undefined, file: './server.json' }],
  [['x', 'a/server.json'], undefined, 'oci', { kind: 'registry', name: 'x', file: 'a/server.json' }],
  [['b.MCPB'], undefined, undefined, { kind: 'bundle', name: undefined, file: 'b.MCPB' }],
  [['old.dxt'], undefined, undefined, { kind: 'bundle', name: undefined, file: 'old.dxt' }],
  [['x', './t.mjs'], undefined, 'module', { kind: 'module', name: 'x', file: './t.mjs' }],
  [['time'], undefined, 'builtin', { kind: 'builtin', name: 'time', toolbox: 'time' }],
  [['clock', 'time'], undefined, 'builtin', { kind: 'builtin', name: 'clock', toolbox: 'time' }],
  [['文件'], ['x'], undefined, { kind: 'command', name: '文件', command: 'x', args: [] }],
])('%j -- %j', (before, passed, type, request) => {
  expect(read(before, passed, type)).toEqual(request);
});

test.each<[string[], string[] | undefined, RegExp, string]>([
  [[], ['npx', 'a b'], /needs a name before "--"/, "mcpx add my-server -- npx 'a b'"],
  [['x'], [], /no command follows "--"/, 'mcpx add x -- npx -y <package>'],
  [
    ['x', 'https://a.example/'],
    ['npx'],
    /a command or a URL, not both/,
    'mcpx add x https://a.example/, or mcpx add x -- npx',
  ],
  [
    ['https://mcp.linear.app/sse'],
    ['npx'],
    /a command or a URL, not both/,
    'mcpx add linear https://mcp.linear.app/sse',
  ],
  [['x', 'y'], ['npx'], /does not take "y"/, 'mcpx add x -- npx'],
  [['x'], undefined, /needs a command or a URL/, 'mcpx add x -- npx -y <package>, or mcpx add x https://…'],
  [['https://mcp.linear.app/sse'], undefined, /a URL needs a name/, 'mcpx add linear https://mcp.linear.app/sse'],
  [['x', 'npx', 'foo'], undefined, /follows "--"/, 'mcpx add x -- npx foo'],
  [['x', 'npx'], undefined, /neither a URL nor a file/, 'mcpx add x -- npx'],
  [['x', 'https://a.example/', 'y'], undefined, /does not take "y"/, 'mcpx add x https://a.example/'],
  [['x', 'htps://a.example/'], undefined, /is not a URL/, 'mcpx add x https://a.example/'],
  [
    ['x', 'https://a.example/b.mcpb'],
    undefined,
    /downloads no files/,
    'curl -LO https://a.example/b.mcpb && mcpx add ./b.mcpb',
  ],
  [['x', 'ftp://a.example/'], undefined, /is not the URL of an MCP server/, 'mcpx add x https://a.example/'],
  [['htps://mcp.linear.app/sse'], undefined, /a URL needs a name/, 'mcpx add linear https://mcp.linear.app/sse'],
  [['a.b'], ['x'], /"a\.b" cannot be the name/, 'mcpx add a-b …'],
  [['a/b'], ['x'], /"a\/b" cannot be the name/, 'mcpx add a-b …'],
])('%j -- %j is refused', (before, passed, message, hint) => {
  expect(() => read(before, passed)).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(message), hint }),
  );
});

test.each<[string, string | undefined]>([
  ['htps://a.example/mcp', 'https://a.example/mcp'],
  ['https:/a.example/mcp', 'https://a.example/mcp'],
  ['http//a.example', undefined],
  ['mcp.example.com', 'https://mcp.example.com'],
  ['mcp.example.com:8080/mcp', 'https://mcp.example.com:8080/mcp'],
  ['localhost:3000/mcp', 'http://localhost:3000/mcp'],
  ['server.js', undefined],
  ['main.py', undefined],
  ['npx', undefined],
  ['C:\\server', undefined],
  ['ftp://a.example/', undefined],
  ['gopher://a.example/', undefined],
])('%s may mean %s', (text, meant) => {
  expect(intendedUrl(text)).toBe(meant);
});

describe('the values of options', () => {
  test('are split at the first sign', () => {
    expect(readVariable('A=b=c')).toEqual(['A', 'b=c']);
    expect(readVariable('A=')).toEqual(['A', '']);
    expect(readHeader('Authorization: Bearer a:b')).toEqual(['Authorization', 'Bearer a:b']);
    expect(readAnswer('k=a=b')).toEqual(['k', 'a=b']);
  });
  test('are never quoted in a message, because they may be secret', () => {
    for (const check of [
      () => readVariable('sk-secret 1'),
      () => readHeader('sk-secret'),
      () => readAnswer('sk-secret'),
    ]) {
      expect(check).toThrow(expect.objectContaining({ code: 'usage', message: expect.not.stringContaining('sk-') }));
    }
    expect(() => readVariable('TOKEN')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("-e 'TOKEN=${TOKEN}'") }),
    );
  });
});
