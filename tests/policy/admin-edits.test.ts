/** Changes that an admin token may make through the API: pairs of configs, before and after. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { checkRemoteEdit } from '../../src/policy/admin-edits.ts';

const AWAY = 'https://elsewhere.example/mcp';
const HOME = 'https://home.example/mcp';

function configOf(document: object) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-edits-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(document));
  const { profiles } = loadConfig({ files: [file], env: { HOME: '/home/me' } }).config;
  for (const { servers } of profiles) for (const spec of servers) spec.place.file = 'config.json';
  return { profiles };
}

/** Returns the decision about a change of the entry `x` from one form to the other. */
function verdict(before: object | undefined, after: object): string {
  const now = configOf({ mcpServers: { other: { url: HOME }, ...(before && { x: before }) } });
  const next = configOf({ mcpServers: { other: { url: HOME }, x: after } });
  try {
    checkRemoteEdit(now, next);
    return 'fine';
  } catch (error) {
    return (error as Error).message;
  }
}

const SENT = { headers: { Authorization: 'Bearer abc' } };
const FILLED = { headers: { Authorization: 'Bearer ${API_TOKEN}' } };

test.each<[said: RegExp, what: string, before: object | undefined, after: object]>([
  [/^fine$/, 'a new address', undefined, { url: AWAY }],
  [/^fine$/, 'a new address with what it needs', undefined, { url: AWAY, ...SENT }],
  [/run a program/, 'a program', undefined, { command: 'sh' }],
  [/run a program/, 'a program as somebody else spells it', undefined, { transport: { type: 'stdio', cmd: 'sh' } }],
  [/run a program/, 'a program in place of an address', { url: HOME }, { type: 'stdio', command: 'sh', url: HOME }],
  [/run a program/, 'other arguments', { command: 'sh' }, { command: 'sh', args: ['-c', 'x'] }],
  [/run a program/, 'a program that prints headers', undefined, { url: AWAY, headersHelper: ['sh'] }],
  [
    /run a program/,
    'other arguments of a program that prints headers',
    { url: HOME, headersHelper: ['vault', 'a'] },
    { url: HOME, headersHelper: ['vault', 'b'] },
  ],
  [
    /credentials/,
    'another address with the old program that prints headers',
    { url: HOME, headersHelper: ['vault'] },
    { url: AWAY, headersHelper: ['vault'] },
  ],
  [/placeholders/, 'a placeholder', undefined, { url: AWAY, ...FILLED }],
  [/placeholders/, 'a variable by name', undefined, { url: AWAY, bearer_token_env_var: 'API_TOKEN' }],
  [/placeholders/, 'variables by name', undefined, { url: AWAY, env_http_headers: { 'X-Key': 'API_TOKEN' } }],
  [/placeholders/, 'another placeholder', { url: HOME, ...FILLED }, { url: `${HOME}/\${OTHER}`, ...FILLED }],
  [/^fine$/, 'another path of the same address', { url: HOME, ...FILLED }, { url: `${HOME}/v2`, ...FILLED }],
  [/credentials/, 'another address with the old placeholder', { url: HOME, ...FILLED }, { url: AWAY, ...FILLED }],
  [/credentials/, 'another address with the old header', { url: HOME, ...SENT }, { url: AWAY, ...SENT }],
  [/credentials/, 'another scheme', { url: HOME, ...SENT }, { url: HOME.replace('https', 'http'), ...SENT }],
  [
    /credentials/,
    'another address with the old client',
    { url: HOME, oauth: { clientSecret: 's' } },
    { url: AWAY, oauth: { clientSecret: 's' } },
  ],
  [/^fine$/, 'another address with headers of its own', { url: HOME, ...FILLED }, { url: AWAY, headers: { A: 'b' } }],
  [/^fine$/, 'another address, where nothing is sent', { url: HOME }, { url: AWAY }],
])('%s: %s', (said, _, before, after) => {
  expect(verdict(before, after)).toMatch(said);
});

test('a name that means several servers is looked at in every profile', () => {
  const having = (x: object) =>
    configOf({
      mcpServers: { x },
      profiles: { first: { mcpServers: { x: { url: HOME } } }, second: { servers: ['x'] } },
    });
  expect(() => checkRemoteEdit(having({ url: HOME }), having({ command: 'sh' }))).toThrow('run a program');
});
