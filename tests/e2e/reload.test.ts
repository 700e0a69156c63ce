/** The config of a running gateway changes: by SIGHUP, by `--watch`, under load, and by mistake. */
import { renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { connect } from '../listen/harness.ts';
import { until } from '../setup/until.ts';
import { answers, emptyPlace, fixture, INITIALIZE, type Place, post, rpc, start, WINDOWS } from './program.ts';

const stdio = (...args: string[]) => ({ command: process.execPath, args: [fixture('stdio.mjs'), ...args] });

async function gateway(place: Place, config: unknown, ...flags: string[]) {
  const file = place.file('mcp.json', config);
  const running = start(['serve', file, '--http', '--port', '0', ...flags], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const exec = async (server: string, tool: string, args: unknown = {}) => {
    const params = { name: 'exec', arguments: { server_name: server, tool_name: tool, arguments: args } };
    const { result, error } = await post(`${url}/mcp`, 'tools/call', params);
    if (error !== undefined || result.isError === true) throw new Error(JSON.stringify(error ?? result));
    return result.content[0].text as string;
  };
  const write = (next: unknown) => writeFileSync(file, typeof next === 'string' ? next : JSON.stringify(next));
  /** As many editors save: another file takes the name. */
  const replace = (next: unknown) => {
    writeFileSync(`${file}.new`, JSON.stringify(next));
    renameSync(`${file}.new`, file);
  };
  return { ...running, url, file, exec, write, replace };
}

describe.skipIf(WINDOWS)('SIGHUP', () => {
  test('a reload under load fails no call of a server that is the same, and keeps its process', async () => {
    const place = emptyPlace();
    const { child, exec, write, wrote } = await gateway(place, { mcpServers: { same: stdio(), old: stdio() } });
    const pid = await exec('same', 'pid');
    let stop = false;
    let calls = 0;
    const failures: unknown[] = [];
    const load = Array.from({ length: 20 }, async (_, worker) => {
      while (!stop) {
        const n = `${worker}-${calls}`;
        await exec('same', 'echo', { n }).then(
          (text) => text.includes(n) || failures.push(text),
          (error) => failures.push(error),
        );
        calls += 1;
      }
    });
    for (let round = 0; round < 5; round += 1) {
      write({ mcpServers: { [`new${round}`]: stdio(), same: stdio() } });
      child.kill('SIGHUP');
      await wrote('stderr', `added "new${round}"`);
      expect(await exec(`new${round}`, 'echo', { round })).toContain(String(round));
    }
    await until(() => calls > 100);
    stop = true;
    await Promise.all(load);
    expect(failures).toEqual([]);
    expect(await exec('same', 'pid')).toBe(pid);
    await expect(exec('old', 'pid')).rejects.toThrow(/old/);
  });

  test('a broken config keeps the old one running and says what is wrong with it', async () => {
    const { child, exec, write, wrote } = await gateway(emptyPlace(), { mcpServers: { a: stdio() } });
    const pid = await exec('a', 'pid');
    write('{ "mcpServers": { "a": }');
    child.kill('SIGHUP');
    await wrote(
      'stderr',
      /not reloaded \(SIGHUP\), the old one stays in effect: a value was expected[\s\S]*mcp\.json:1/,
    );
    expect(await exec('a', 'pid')).toBe(pid);
  });

  test('over stdio it ends the program', async () => {
    const place = emptyPlace();
    const running = start(['serve', place.file('mcp.json', { mcpServers: {} })], place);
    running.child.stdin?.write(rpc(0, 'initialize', INITIALIZE));
    await running.wrote('stdout', '"id":0');
    running.child.kill('SIGHUP');
    expect((await running.finished).code).toBe(0);
  });
});

test('--watch applies a saved file by itself, and a client on stdio hears that its lists changed', async () => {
  const place = emptyPlace();
  const file = place.file('mcp.json', { mcpServers: { a: stdio() } });
  const running = start(['serve', file, '--watch', '--front', 'aggregate'], place);
  running.child.stdin?.write(rpc(0, 'initialize', INITIALIZE) + rpc(1, 'tools/list'));
  await running.wrote('stdout', '"id":1');
  writeFileSync(file, JSON.stringify({ mcpServers: { a: stdio(), second: stdio() } }));
  await running.wrote('stdout', 'notifications/tools/list_changed');
  running.child.stdin?.write(rpc(2, 'tools/list'));
  await running.wrote('stdout', '"id":2');
  const { result } = answers(running.said.stdout).find(({ id }) => id === 2);
  expect(result.tools.map(({ name }: { name: string }) => name)).toContain('second__echo');
  running.child.stdin?.end();
  expect((await running.finished).code).toBe(0);
});

test('tokens and profiles change while it runs, and it cannot be opened to everybody by mistake', async () => {
  const place = emptyPlace();
  const { url, write, wrote } = await gateway(place, { mcpServers: {}, watch: true });
  const status = async (secret?: string) => {
    const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
    return (await fetch(`${url}/api/status`, { headers })).status;
  };
  expect(await status()).toBe(200);
  const auth = { tokens: [{ name: 'ci', token: 'one' }] };
  write({ mcpServers: {}, watch: true, http: { auth } });
  await wrote('stderr', 'reloaded (a file changed)');
  expect([await status(), await status('one')]).toEqual([401, 200]);
  write({ mcpServers: {}, watch: true, http: { auth: { tokens: [{ name: 'ci', token: '${NOT_SET}' }] } } });
  await wrote('stderr', /not reloaded .*NOT_SET/);
  expect([await status(), await status('one')]).toEqual([401, 200]);
});

test('--watch follows files that are replaced, removed and put back, and files of variables', async () => {
  const place = emptyPlace();
  place.file('keys.env', 'KEY=one\n');
  const config = (more = {}) => ({
    mcpServers: { same: stdio(), keyed: { ...stdio(), envFile: './keys.env' }, ...more },
  });
  const { exec, file, replace, wrote } = await gateway(place, config(), '--watch');
  const pid = await exec('same', 'pid');
  expect(await exec('keyed', 'env')).toContain('"KEY":"one"');
  place.file('keys.env', 'KEY=two\n');
  await wrote('stderr', 'changed "keyed"');
  expect(await exec('keyed', 'env')).toContain('"KEY":"two"');
  replace(config({ more: stdio() }));
  await wrote('stderr', 'added "more"');
  unlinkSync(file);
  await wrote(
    'stderr',
    /not reloaded \(a file changed\), the old one stays in effect: config file ".*" does not exist/,
  );
  expect(await exec('more', 'echo', { n: 1 })).toContain('1');
  replace(config({ again: stdio() }));
  await wrote('stderr', 'added "again"');
  expect(await exec('same', 'pid')).toBe(pid);
});

test('a profile that goes takes its sessions along, lets its calls finish, and leaves the others alone', async () => {
  const mcpServers = { a: stdio() };
  const profiles = { default: {}, second: {} };
  const { url, write, wrote } = await gateway(emptyPlace(), { mcpServers, profiles, watch: true });
  const [stays, goes] = [await connect(`${url}/mcp`), await connect(`${url}/mcp/second`)];
  const stream = await goes.get();
  const slow = fetch(`${url}/api/second/tools/a/sleep`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"ms":3000}' },
  });
  const live = async () => ((await (await fetch(`${url}/api/status`)).json()) as any).calls.live.length;
  await expect.poll(live).toBe(1);
  write({ mcpServers, profiles: { default: {}, second: { enabled: false } }, watch: true });
  await wrote('stderr', 'removed "second/a"');
  await stream.text();
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const refused = await goes.post(ping);
  expect([refused.status, (await refused.json()).error.message]).toEqual([403, 'the profile "second" is disabled']);
  expect((await slow).status).toBe(200);
  expect((await stays.post(ping)).status).toBe(200);
});
