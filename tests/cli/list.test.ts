/** `mcpx list` with stored state, and `mcpx list --check`, which starts every server once. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { summaryOf } from '../../src/cli/list.ts';
import type { RowState, ServerRow } from '../../src/cli/server-rows.ts';
import { captureOutput } from '../setup/output.ts';
import { fixture } from '../upstream/world.ts';

const shown = captureOutput();

async function mcpx(...words: string[]): Promise<number> {
  Object.assign(shown, { stdout: '', stderr: '' });
  return runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });
}

function configFile(content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-list-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

const works = { command: process.execPath, args: [fixture('stdio.mjs')] };
const crashes = { command: process.execPath, args: ['-e', 'console.error("no database"); process.exit(3)'] };

async function closedDoor(): Promise<string> {
  const server = createServer((_, response) => response.writeHead(401).end()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const rows = (): ServerRow[] => JSON.parse(shown.stdout);
const stateOf = (name: string) => rows().find((row) => row.name === name)?.state;

test('the state of each server is remembered, and --check ends with one line and its exit code', async () => {
  const file = configFile({
    mcpServers: {
      works,
      crashes,
      remote: { url: await closedDoor() },
      unset: { command: 'x', env: { A: '${NO_SUCH_VARIABLE_HERE}' } },
      off: { command: 'x', disabled: true },
    },
  });
  expect(await mcpx('list', '--config', file)).toBe(0);
  expect(shown.stdout).toMatch(/^works +stdio +never started +– +\S/m);
  expect(shown.stdout).toMatch(/^unset +stdio +needs NO_SUCH_VARIABLE_HERE +–/m);
  expect(shown.stderr).toContain(`mcpx list --config ${file} --check`);

  expect(await mcpx('list', '--config', file, '--check')).toBe(4);
  expect(shown.stdout).toMatch(/^works +stdio +ready +\d+ tools +\S/m);
  expect(shown.stdout).toMatch(
    /^crashes .*\n {4}server "crashes" exited with code 3 \(stderr: no database\)\n {4}hint: /m,
  );
  expect(shown.stdout).toMatch(/^remote +auto +needs sign-in/m);
  expect(shown.stdout).toContain('hint: mcpx login remote');
  expect(shown.stdout.split('\n').at(-2)).toBe('5 servers: 1 ready, 1 needs sign-in, 2 failed, 1 disabled');

  expect(await mcpx('list', '--config', file)).toBe(0);
  expect(shown.stdout).toMatch(/^works +stdio +worked just now +\d+ tools/m);
  expect(shown.stdout).toMatch(/^crashes +stdio +failed just now +–/m);
  expect(shown.stdout).toContain('no database');
  expect(await mcpx('list', '--config', file, '--json')).toBe(0);
  expect(rows().map(({ state }) => state)).toEqual(['worked', 'failed', 'sign-in', 'incomplete', 'disabled']);
  expect(rows()[2]).toMatchObject({
    signIn: `mcpx login remote --config ${file}`,
    error: 'server "remote" needs sign-in',
  });
  expect(rows()[0]).toMatchObject({ tools: expect.any(Number), at: expect.stringMatching(/^\d{4}-/) });
});

test('a failure of another command is remembered too, until the server works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-list-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const script = join(folder, 'server.mjs');
  const file = configFile({ mcpServers: { later: { command: process.execPath, args: [script] } } });
  expect(await mcpx('tools', '--config', file, 'later')).toBe(4);
  await mcpx('list', '--config', file, '--json');
  expect(stateOf('later')).toBe('failed');
  writeFileSync(script, `await import(${JSON.stringify(fixture('stdio.mjs'))})`);
  expect(await mcpx('tools', '--config', file, 'later')).toBe(0);
  await mcpx('list', '--config', file, '--json');
  expect(stateOf('later')).toBe('worked');
});

test('a server in several profiles is started once, and a filter counts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-list-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, 'starts');
  const file = configFile({
    mcpServers: {
      once: {
        command: process.execPath,
        args: [
          '-e',
          `require('node:fs').appendFileSync(${JSON.stringify(log)}, 'x'); import(${JSON.stringify(fixture('stdio.mjs'))})`,
        ],
      },
    },
    profiles: {
      default: { servers: ['*'] },
      less: { servers: ['*'], tools: { allow: ['echo'] } },
      off: { servers: ['*'], enabled: false },
    },
  });
  expect(await mcpx('list', '--config', file, '--check', '--json')).toBe(0);
  expect(rows().map(({ profile, state }) => `${profile} ${state}`)).toEqual([
    'default ready',
    'less ready',
    'off disabled',
  ]);
  expect(rows()[1]?.tools).toBe(1);
  expect(readFileSync(log, 'utf8')).toBe('x');
});

test('a server that fails is not tried again while the others start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-list-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, 'starts');
  const dies = `require('node:fs').appendFileSync(${JSON.stringify(log)}, 'x'); process.exit(1)`;
  const file = configFile({
    mcpServers: {
      dies: { command: process.execPath, args: ['-e', dies] },
      late: { command: process.execPath, args: [fixture('stdio.mjs'), 'late-init=2000'] },
    },
  });
  expect(await mcpx('list', '--config', file, '--check')).toBe(4);
  expect(shown.stdout).toContain('2 servers: 1 ready, 1 failed');
  expect(readFileSync(log, 'utf8')).toBe('x');
});

test.each<[RowState[], string]>([
  [['ready'], '1 server: 1 ready'],
  [['ready', 'sign-in', 'sign-in'], '3 servers: 1 ready, 2 need sign-in'],
  [['failed', 'incomplete', 'disabled'], '3 servers: 2 failed, 1 disabled'],
])('%j in one line', (states, line) => {
  expect(summaryOf(states.map((state) => ({ state }) as ServerRow))).toBe(line);
});

test('no server: the words to type, with --check too', async () => {
  const file = configFile({ mcpServers: {} });
  expect(await mcpx('list', '--config', file, '--check')).toBe(0);
  expect(shown.stderr).toContain('mcpx init');
  expect(shown.stdout).toBe('0 servers\n');
});
