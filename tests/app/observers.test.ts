/** Status, events and metrics of an app, as its tokens, an admin and everyone else see them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type App, createApp } from '../../src/app/app.ts';
import type { Config } from '../../src/config/config.ts';
import { demoConfig } from '../../src/config/load.ts';
import type { LiveEvent } from '../../src/listen/app-api.ts';
import { SILENT } from '../../src/observe/log.ts';
import { prometheusText } from '../../src/observe/prometheus.ts';
import type { Principal } from '../../src/policy/auth.ts';
import { parseMetrics } from '../observe/prometheus.ts';
import { PATIENCE } from '../setup/until.ts';

const principal = (name: string, more: Partial<Principal> = {}): Principal => ({
  ...{ name, tools: {}, resources: {}, prompts: {}, admin: false },
  ...more,
});

function openApp(config: Config = demoConfig()): App {
  const app = createApp(config, { log: SILENT });
  onTestFinished(() => app.stop());
  return app;
}

async function calculate(app: App, as?: Principal, requestId = 'r-1'): Promise<void> {
  const { front, close } = app.open({
    ...{ profile: 'default', front: 'aggregate', downstream: { key: 'k', notify: () => undefined } },
    ...(as && { principal: as }),
  });
  await front.request(
    { method: 'tools/call', params: { name: 'math__calculate', arguments: { expression: '6 * 7' } } },
    { signal: AbortSignal.timeout(PATIENCE), requestId },
  );
  close();
}

function listener(app: App, as?: Principal): LiveEvent[] {
  const heard: LiveEvent[] = [];
  app.watch(as, (event) => heard.push(event));
  return heard;
}

const calls = (heard: LiveEvent[]) => heard.filter(({ type }) => type.startsWith('call_')).length;

test('a token hears of its own calls, the admin of all, another token of none', async () => {
  const app = openApp();
  const [ci, other, boss] = [principal('ci'), principal('other'), principal('boss', { admin: true })];
  const heard = [ci, other, boss, undefined].map((one) => listener(app, one));
  await calculate(app, ci);
  expect(heard.map(calls)).toEqual([2, 0, 2, 2]);
  const ended = heard[0]?.find(({ type }) => type === 'call_ended');
  expect(ended).toMatchObject({
    call: { token: 'ci', server: 'math', name: 'calculate', request: 'r-1', outcome: 'ok', profile: 'default' },
  });
  expect(JSON.stringify(heard)).not.toContain('6 * 7');
});

test('neither events nor numbers tell a token that something is there which it may not use', async () => {
  const app = openApp();
  const ci = principal('ci', { tools: { deny: ['math.calculate'] } });
  const [own, admin] = [listener(app, ci), listener(app, principal('boss', { admin: true }))];
  await expect(calculate(app, ci)).rejects.toThrow('Unknown tool');
  expect(calls(own)).toBe(0);
  expect(admin.filter(({ type }) => type.startsWith('call_'))).toMatchObject([{ call: { outcome: 'denied' } }]);
  const scrape = (as?: Principal) => parseMetrics(prometheusText(app.metrics(as)));
  expect(scrape(ci).has('mcpx_calls_denied_total')).toBe(false);
  expect(scrape(principal('boss', { admin: true })).get('mcpx_calls_denied_total')?.samples[0]?.value).toBe(1);
  expect(app.status(ci).calls).toMatchObject({ calls: 0, live: [] });
});

test('states are heard of servers and in profiles that a token may use', async () => {
  const app = openApp();
  const heard = [
    principal('ci'),
    principal('far', { profiles: ['elsewhere'] }),
    principal('narrow', { servers: ['none'] }),
  ].map((one) => listener(app, one));
  await calculate(app);
  const states = heard.map((events) => events.filter(({ type }) => type === 'state').length);
  expect(states[0]).toBeGreaterThan(0);
  expect(states.slice(1)).toEqual([0, 0]);
});

test('why a reload failed is for the admin only', () => {
  const app = openApp();
  const heard = [principal('ci'), principal('boss', { admin: true })].map((one) => listener(app, one));
  app.emit({ type: 'reload', ok: false, message: 'line 3 of the config' });
  expect(heard).toEqual([
    [{ type: 'reload', ok: false }],
    [{ type: 'reload', ok: false, message: 'line 3 of the config' }],
  ]);
});

test('metrics have states and calls of what a token may use', async () => {
  const app = openApp();
  await calculate(app);
  const scrape = (as?: Principal) => parseMetrics(prometheusText(app.metrics(as)));
  const all = scrape();
  expect(all.get('mcpx_calls_total')?.samples).toMatchObject([{ labels: { server: 'math', tool: 'calculate' } }]);
  const ready = all.get('mcpx_upstream_state')?.samples.filter(({ value }) => value === 1);
  expect(ready?.find(({ labels }) => labels.server === 'math')?.labels.state).toBe('ready');
  expect(scrape(principal('ci', { tools: { deny: ['math.*'] } })).has('mcpx_calls_total')).toBe(false);
  expect(scrape(principal('far', { profiles: [] })).has('mcpx_upstream_state')).toBe(false);
});

test('the audit log has the calls of an app, and is whole when it has stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'audit.jsonl');
  const config = demoConfig();
  const app = createApp(
    { ...config, settings: { ...config.settings, audit: { file, values: false, required: false } } },
    { log: SILENT },
  );
  await calculate(app, principal('ci'));
  await app.stop();
  const text = readFileSync(file, 'utf8');
  expect(JSON.parse(text)).toMatchObject({
    type: 'call',
    token: 'ci',
    server: 'math',
    name: 'calculate',
    outcome: 'ok',
  });
  expect(text).not.toContain('6 * 7');
});

test('with "audit.required" no call runs while the audit log cannot be written, and the status says why', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'logs', 'audit.jsonl');
  const config = demoConfig();
  const audit = { file, values: false, required: true };
  const app = createApp({ ...config, settings: { ...config.settings, audit } }, { log: SILENT });
  onTestFinished(() => app.stop());
  const run = () => {
    const { router, identity: caller } = app.enter({ profile: 'default' });
    return router.call({ server: 'math', tool: 'calculate', arguments: { expression: '6 * 7' }, caller });
  };
  await run();
  // Lines are written in the next turn of the event loop.
  await new Promise(setImmediate);
  rmSync(join(folder, 'logs'), { recursive: true });
  writeFileSync(join(folder, 'logs'), 'in the way');
  // The call before is the one that shows it.
  await run();
  await new Promise(setImmediate);
  await expect(run()).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining(`the audit log "${file}" cannot be written`),
    hint: expect.stringContaining('"audit.required"'),
  });
  expect(app.status().problems).toEqual([expect.stringContaining(file)]);
  expect(app.status(principal('ci')).problems).toBeUndefined();
  rmSync(join(folder, 'logs'));
  await run();
  expect(app.status().problems).toBeUndefined();
  await app.stop();
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).outcome)).toEqual(['ok', 'refused', 'ok']);
});
