/** Clients of several tokens that share one server: nothing that may be about one of them reaches another. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/observe/log.ts';
import type { Params } from '../../src/wire/message.ts';

const script = resolve(import.meta.dirname, '../fixtures/servers/stdio.mjs');

function stage(method: string) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-principals-'));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: process.execPath, args: [script] } } }));
  const logged: string[] = [];
  const log = createLog({ level: 'debug', write: (line) => logged.push(line) });
  const app = createApp(loadConfig({ files: [file] }).config, { log });
  onTestFinished(async () => {
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A client of that token, and the texts of the notifications that it heard. */
  const enter = async (key: string, name: string | undefined) => {
    const heard: unknown[] = [];
    const notify = (name: string, params?: Params) => void (name === method && heard.push(params?.data));
    const principal =
      name === undefined ? {} : { principal: { name, tools: {}, resources: {}, prompts: {}, admin: false } };
    const { front } = app.open({ profile: 'default', front: 'compact', downstream: { key, notify }, ...principal });
    const request = (method: string, params: Params = {}, signal = AbortSignal.timeout(30_000)) =>
      front.request({ method, params }, { signal, notify });
    const call = (tool_name: string, args: Params = {}, signal?: AbortSignal) =>
      request('tools/call', { name: 'exec', arguments: { server_name: 'a', tool_name, arguments: args } }, signal);
    await request('initialize', { capabilities: {} });
    front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return {
      call,
      heard: () => heard.splice(0),
      say: (data: string, tool = 'say') => call(tool, { method, params: { level: 'info', data } }),
      /** A call that stays under way until it is ended. */
      async hang() {
        const client = new AbortController();
        const answer = call('never', {}, client.signal);
        // The order of responses may differ; the earlier call was sent first.
        await call('echo');
        return async () => {
          client.abort();
          await answer;
        };
      },
    };
  };
  return { enter, logged };
}

const SAID = [
  ['a log message', 'notifications/message'],
  ['what mcpx does not know', 'notifications/acme/changed'],
] as const;

describe.each(SAID)('%s', (_, method) => {
  test('that may belong to calls of two tokens is heard by neither', async () => {
    const { enter, logged } = stage(method);
    const [one, two, other] = [await enter('1', 'a'), await enter('2', 'a'), await enter('3', 'b')];
    const end = await one.hang();
    await two.say('of one token');
    expect([one.heard(), two.heard(), other.heard()]).toEqual([['of one token'], ['of one token'], []]);
    const endOther = await other.hang();
    await two.say('of two tokens');
    expect([one.heard(), two.heard(), other.heard()]).toEqual([[], [], []]);
    expect(logged.filter((line) => line.includes(`${method} is dropped`))).toHaveLength(1);
    await Promise.all([end(), endOther()]);
    await two.say('of one call');
    expect([one.heard(), two.heard(), other.heard()]).toEqual([[], ['of one call'], []]);
  });

  test('that belongs to no call is for the only token that used the server, and for nobody once another did', async () => {
    const { enter, logged } = stage(method);
    const [one, two, other] = [await enter('1', 'a'), await enter('2', 'a'), await enter('3', 'b')];
    await one.say('afterwards', 'say-afterwards');
    expect([one.heard(), two.heard(), other.heard()]).toEqual([['afterwards'], ['afterwards'], []]);
    await other.call('echo');
    await one.say('with two', 'say-afterwards');
    expect([one.heard(), two.heard(), other.heard()]).toEqual([[], [], []]);
    expect(logged.filter((line) => line.includes(`${method} is dropped`))).toHaveLength(1);
  });

  test('that may belong to any client without a token is heard by all of them', async () => {
    const { enter } = stage(method);
    const [one, two] = [await enter('1', undefined), await enter('2', undefined)];
    const end = await one.hang();
    await two.say('to both');
    await end();
    await two.say('afterwards', 'say-afterwards');
    expect([one.heard(), two.heard()]).toEqual([
      ['to both', 'afterwards'],
      ['to both', 'afterwards'],
    ]);
  });
});
