/** The Inspector CLI against the executable, over stdio and over HTTP: everything that it can list, call, read and get. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostTarget } from '../../scripts/project.mjs';
import { nodeLock } from '../../scripts/release/node.mjs';
import { serverScript, WINDOWS } from '../e2e/program.ts';
import { type Gateway, startGateway } from './gateway.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const INSPECTOR = resolve(ROOT, 'node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js');
/** It needs a newer Node than mcpx's tests do: the pinned one that the build fetched. */
const NODE = resolve(ROOT, '.cache/node', nodeLock().version, hostTarget(), WINDOWS ? 'node.exe' : 'node');

let gateway: Gateway;

beforeAll(async () => {
  const everything = { command: process.execPath, args: [serverScript('server-everything')] };
  gateway = await startGateway({ front: { kind: 'aggregate' }, mcpServers: { everything, math: { type: 'builtin' } } });
});
afterAll(() => gateway?.stop());

/** How the Inspector is told where mcpx is. */
const TARGETS = {
  stdio: () => [gateway.command.command, ...gateway.command.args],
  HTTP: () => [gateway.url, '--transport', 'http'],
};

async function inspect(target: string[], ...words: string[]): Promise<any> {
  const { cwd, env } = gateway.command;
  const { stdout } = await promisify(execFile)(NODE, [INSPECTOR, ...target, ...words], { cwd, env });
  return JSON.parse(stdout);
}

const namesOf = (items: { name: string }[]) => items.map(({ name }) => name);

describe.each(Object.entries(TARGETS))('over %s', (_, target) => {
  test('tools/list and tools/call', async () => {
    const { tools } = await inspect(target(), '--method', 'tools/list');
    expect(namesOf(tools)).toEqual(expect.arrayContaining(['everything__echo', 'math__calculate']));
    const call = ['--method', 'tools/call', '--tool-name', 'everything__echo', '--tool-arg', 'message=inspected'];
    expect((await inspect(target(), ...call)).content).toEqual([{ type: 'text', text: 'Echo: inspected' }]);
  });

  test('resources/list and resources/read', async () => {
    const { resources } = await inspect(target(), '--method', 'resources/list');
    const { uri } = resources.find(({ name }: { name: string }) => name === 'architecture.md');
    expect(uri).toMatch(/^proxy:\/\/resource\//);
    const { contents } = await inspect(target(), '--method', 'resources/read', '--uri', uri);
    expect(contents[0]).toMatchObject({ uri, text: expect.stringContaining('Everything Server') });
  });

  test('prompts/list and prompts/get', async () => {
    const { prompts } = await inspect(target(), '--method', 'prompts/list');
    expect(namesOf(prompts)).toContain('everything__args-prompt');
    const get = ['--method', 'prompts/get', '--prompt-name', 'everything__args-prompt', '--prompt-args', 'city=Paris'];
    expect(JSON.stringify(await inspect(target(), ...get))).toContain('Paris');
  });
});
