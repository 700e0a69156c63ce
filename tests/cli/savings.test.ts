/** `mcpx tokens` and `mcpx stats`: what mcpx saves, and what it has saved. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { createLedger } from '../../src/observe/savings-totals.ts';
import { captureOutput } from '../setup/output.ts';
import { PATIENCE } from '../setup/until.ts';

const shown = captureOutput();
const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mcpx-savings-'));
  vi.stubEnv('MCPX_HOME', home);
});
afterEach(() => void vi.unstubAllEnvs());

describe('mcpx tokens', () => {
  test('shows every server, every client and the method', async () => {
    expect(await mcpx('tokens', '--demo')).toBe(0);
    expect(shown.stdout).toMatch(/^time +5 +≈ [\d,]+ +≈ \d+$/m);
    expect(shown.stdout).toMatch(/^total +13 +≈ [\d,]+ +≈ \d+, 6\d\.\d % less$/m);
    expect(shown.stdout).toMatch(/^Claude Code \* +≈ 1\d\d +≈ \d+ +nothing$/m);
    expect(shown.stdout).toContain('estimated with tokenx');
  });

  test('--json has the same numbers, and the parts add up', async () => {
    expect(await mcpx('tokens', '--demo', '--json')).toBe(0);
    const { servers, fixed, total, clients } = JSON.parse(shown.stdout);
    const sum = (field: string) =>
      servers.reduce((all: number, one: Record<string, number>) => all + (one[field] ?? 0), 0);
    expect(sum('tools')).toBe(13);
    expect(sum('without')).toBe(total.without);
    expect(sum('with') + fixed).toBe(total.with);
    expect(fixed).toBeLessThanOrEqual(300);
    expect(clients.map(({ client }: { client: string }) => client)).toContain('Claude Code');
  });

  test('says what a client would cut, and which server could not be asked', async () => {
    const listed = join(home, 'tools.json');
    const names = Array.from({ length: 50 }, (_, index) => `t${index}`);
    const description = (name: string) => 'x'.repeat(name === 't0' ? 5000 : 9);
    writeFileSync(
      listed,
      JSON.stringify(
        names.map((name) => ({
          ...{ name, description: description(name), inputSchema: { type: 'object' } },
          _meta: { 'anthropic/alwaysLoad': name === 't0' },
        })),
      ),
    );
    const file = join(home, 'config.json');
    const args = [resolve('tests/fixtures/servers/tiny.mjs'), `tools=${listed}`];
    const mcpServers = { long: { command: process.execPath, args }, dead: { command: 'no-such-program-anywhere' } };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    expect(await mcpx('tokens', '--config', file)).toBe(0);
    expect(shown.stdout).toMatch(/Claude Code.*1 description \(long\.t0\); 904 characters/);
    expect(shown.stdout).toMatch(/Cursor.*13 tools omitted/);
    expect(shown.stderr).toContain('no-such-program-anywhere');
  });
});

describe('mcpx stats', () => {
  test('says so when nothing was counted', async () => {
    expect(await mcpx('stats')).toBe(0);
    expect(shown.stdout).toBe('');
    expect(shown.stderr).toContain('nothing has been counted yet');
    expect(await mcpx('stats', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toBeNull();
  });

  test('shows what was saved, less what was looked up', async () => {
    const ledger = createLedger({ file: join(home, 'stats.json') });
    ledger.add({ menus: 2, listedWithout: 80_000, listedWith: 4000, calls: 1, lookups: 3, lookedUp: 800 });
    ledger.add({ reencoded: 1, resultsBefore: 4000, resultsAfter: 2000 });
    await ledger.close();
    expect(await mcpx('stats')).toBe(0);
    expect(shown.stdout).toMatch(/^≈ 19,300 tokens saved since \d{4}-\d\d-\d\d$/m);
    expect(shown.stdout).toMatch(/^lists of tools +\+19,000 +2 clients/m);
    expect(shown.stdout).toMatch(/^results +\+500 +1 of 1 call with a shorter result$/m);
    expect(shown.stdout).toMatch(/^lookups +-200 +3 results of inspect$/m);
    expect(shown.stdout).toContain('4 characters are a token');
    shown.stdout = '';
    expect(await mcpx('stats', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({ calls: 1, tokens: { net: 19_300 } });
  });
});

describe('mcpx serve', () => {
  const serve = async (config: Record<string, unknown>) => {
    const file = join(home, 'config.json');
    const more = Object.fromEntries(['time', 'memory'].map((name) => [name, { type: 'builtin' }]));
    writeFileSync(file, JSON.stringify({ mcpServers: { math: { type: 'builtin' }, ...more }, ...config }));
    const stop = new AbortController();
    const words = ['serve', file, '--port', '0'];
    const ended = runCli({ words, stdinIsTerminal: true, stop: stop.signal, atExit: () => undefined });
    const url = await vi.waitFor(
      () => {
        const [, found = ''] = /listening on (\S+)/.exec(shown.stderr) ?? [];
        expect(found).not.toBe('');
        return found;
      },
      { timeout: PATIENCE },
    );
    const post = async (method: string, params: unknown) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      return (await fetch(url, { method: 'POST', headers, body })).json();
    };
    await post('tools/list', {});
    await post('tools/call', { name: 'inspect', arguments: { server_name: 'math' } });
    const args = { server_name: 'math', tool_name: 'calculate', arguments: { expression: '1+1' } };
    await post('tools/call', { name: 'exec', arguments: args });
    const status = await (await fetch(url.replace(/\/mcp$/, '/api/status'))).json();
    stop.abort();
    await ended;
    return status as { savings: { calls: number; lookups: number; menus: number; tokens: { net: number } } };
  };

  test('counts what it saves, in its status and for later', async () => {
    const { savings } = await serve({});
    expect(savings).toMatchObject({ menus: 1, calls: 1, lookups: 1 });
    expect(savings.tokens.net).toBeGreaterThan(0);
    expect(await mcpx('stats', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({ menus: 1, calls: 1, lookups: 1 });
  });

  test('keeps nothing when told not to', async () => {
    expect((await serve({ stats: false })).savings).toMatchObject({ calls: 1 });
    expect(await mcpx('stats', '--json')).toBe(0);
    expect(JSON.parse(shown.stdout)).toBeNull();
  });
});
