/** Limits of known clients: descriptions, results and names. */
import { expect, test } from 'vitest';
import { DEFAULTS, type Settings } from '../../src/config/config.ts';
import {
  CLIENTS,
  DESCRIPTION_LIMIT,
  descriptionLimit,
  knownClient,
  menuLimit,
  settingsFor,
  settingsOf,
} from '../../src/front/known-clients.ts';

type Info = { name: string; version?: string };

const LIMITS: [string, Info | undefined, number][] = [
  ['a client that cuts', { name: 'claude-code', version: '2.1.326' }, 4096],
  ['its version before', { name: 'claude-code', version: '2.1.325' }, 2048],
  ['a version that sorts after as text', { name: 'claude-code', version: '2.1.99' }, 2048],
  ['its next version', { name: 'claude-code', version: '3.0.0' }, 4096],
  ['one that does not tell its version', { name: 'claude-code' }, 2048],
  ['one with another kind of version', { name: 'claude-code', version: 'dev' }, 2048],
  ['one that nobody knows', { name: 'somebody-else' }, DESCRIPTION_LIMIT],
  ['one whose descriptions have no known limit', { name: 'cursor-vscode' }, DESCRIPTION_LIMIT],
  ['one that has not introduced itself', undefined, DESCRIPTION_LIMIT],
  ['one with a name of every object', { name: 'constructor' }, DESCRIPTION_LIMIT],
];

test.each(LIMITS)('the limit of %s', (_title, info, expected) => {
  expect(descriptionLimit(info)).toBe(expected);
});

test('no client is listed twice, and each for a reason', () => {
  const names = CLIENTS.flatMap((client) => client.names);
  expect(new Set(names).size).toBe(names.length);
  for (const { title: _, names: __, ...facts } of CLIENTS) expect(Object.keys(facts)).not.toEqual([]);
});

const STRUCTURED: [client: string | undefined, written: Settings['front']['structured'], used: string][] = [
  ['claude-code', 'auto', 'never'],
  ['codex-mcp-client', 'auto', 'never'],
  ['qwen-cli-mcp-client-mcpx', 'auto', 'never'],
  ['@langchain/mcp-adapters', 'auto', 'never'],
  ['copilot-cli', 'auto', 'never'],
  ['@cline/core', 'auto', 'never'],
  ['continue-cli-client', 'auto', 'auto'],
  ['ai-sdk-mcp-client', 'auto', 'auto'],
  ['gemini-cli-mcp-client', 'auto', 'auto'],
  ['somebody-else', 'auto', 'auto'],
  [undefined, 'auto', 'auto'],
  ['claude-code', 'always', 'always'],
  ['somebody-else', 'never', 'never'],
];

test.each(STRUCTURED)('structuredContent for %s with front.structured "%s" is "%s"', (name, structured, used) => {
  const settings = { ...DEFAULTS, front: { ...DEFAULTS.front, structured } };
  expect(settingsFor(settings, name === undefined ? undefined : { name }).front.structured).toBe(used);
});

test('Mastra is known by the name of the server and its constant version', () => {
  const structured = (version: string) => settingsFor(DEFAULTS, { name: 'mcpx', version }).front.structured;
  expect(structured('1.0.0')).toBe('never');
  expect(structured('0.1.0')).toBe('auto');
});

test('settings are made again for another version of a client', () => {
  const settings = settingsOf(DEFAULTS, settingsFor);
  const structured = (version: string) => settings({ name: 'mcpx', version }).front.structured;
  expect(['1.0.0', '0.1.0', '1.0.0'].map(structured)).toEqual(['never', 'auto', 'never']);
  expect(settings({ name: 'mcpx', version: '1.0.0' })).toBe(settings({ name: 'mcpx', version: '1.0.0' }));
});

test('a result is kept and cut before the client cuts it', () => {
  const limit = (name: string, resultChars: number) =>
    settingsFor({ ...DEFAULTS, limits: { ...DEFAULTS.limits, resultChars } }, { name }).limits.resultChars;
  expect(limit('@cline/core', 40_000)).toBe(6000);
  expect(limit('copilot-cli', 40_000)).toBe(20_000);
  expect(limit('qwen-cli-mcp-client-mcpx', 40_000)).toBe(25_000);
  expect(limit('@cline/core', 5000)).toBe(5000);
  expect(limit('somebody-else', 40_000)).toBe(40_000);
  expect(settingsFor(DEFAULTS, { name: 'codex-mcp-client' }).limits.resultBytes).toBe(11_500);
  expect(settingsFor(DEFAULTS, { name: 'copilot-cli' }).limits.resultBytes).toBe(20_000);
  expect(settingsFor(DEFAULTS, { name: 'somebody-else' }).limits.resultBytes).toBeUndefined();
});

test('exec_read is offered to clients that approve tools by annotation, unless the config says otherwise', () => {
  const offered = (name: string, execSplit: boolean | null) =>
    settingsFor({ ...DEFAULTS, front: { ...DEFAULTS.front, execSplit } }, { name }).front.execSplit;
  expect(offered('codex-mcp-client', null)).toBe(true);
  expect(offered('codex-mcp-client', false)).toBe(false);
  expect(offered('claude-code', null)).toBe(null);
  expect(offered('claude-code', true)).toBe(true);
});

test('what an older version does differently takes the place of what is known of the newest', () => {
  expect(knownClient({ name: 'claude-code', version: '2.1.0' })).toMatchObject({
    instructions: 2048,
    reads: 'structured',
  });
});

test.each([
  [{ name: 'claude-code', version: '2.1.326' }, null, 4096],
  [{ name: 'claude-code', version: '2.1.325' }, null, 2000],
  [{ name: 'claude-code' }, null, 2000],
  [{ name: 'some-client', version: '1' }, null, 2000],
  [undefined, null, 2000],
  [{ name: 'claude-code', version: '2.1.326' }, 1000, 1000],
  [{ name: 'claude-code', version: '2.1.325' }, 3000, 2048],
])('the menu of %j with front.menuBudget %j has up to %i characters', (client, menuBudget, expected) => {
  expect(menuLimit({ menuBudget }, client)).toBe(expected);
});
