import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createListingLimit } from '../../../src/upstream/lifecycle/listing-limit.ts';
import { call, cleanup, connection, fixture, isRunning, serverSpec, stdioSpec, until } from '../world.ts';

test.each([
  ['is answered in kind once it has answered so', [], 'newline'],
  ['is spoken to so from the first message where the config says so', ['strict'], 'content-length'],
] as const)('an upstream that speaks in Content-Length frames %s', async (_, flags, framing) => {
  const upstream = connection(stdioSpec(process.execPath, [fixture('framed.mjs'), ...flags], { framing }));
  expect((await upstream.connect()).serverInfo.name).toBe('framed');
  for (const text of ['中文', '🙂', '']) expect(await call(upstream, 'echo', { text })).toEqual({ text });
  expect(upstream.diagnostics().noise).toBe(0);
});

/** A file that fixtures write to, and its lines. */
function logFile() {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-framing-'));
  cleanup(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'log');
  return { flag: `log=${file}`, lines: () => readFileSync(file, 'utf8').trim().split('\n') };
}

test('a server that reads Content-Length frames only is found out, and spoken to so at once the next time', async () => {
  const log = logFile();
  const spec = stdioSpec(process.execPath, [fixture('framed.mjs'), 'strict', log.flag]);
  const upstream = connection(spec);
  const handshake = await upstream.connect();
  expect(handshake).toMatchObject({ framing: 'content-length', serverInfo: { name: 'framed' } });
  expect(await call(upstream, 'echo', { text: '中文' })).toEqual({ text: '中文' });
  const [first = '', second] = log.lines();
  expect(upstream.diagnostics().pid).toBe(Number(second));
  await until(() => !isRunning(Number(first)));

  const again = connection(spec, { recall: () => handshake });
  expect((await again.connect()).framing).toBe('content-length');
  expect(log.lines()).toHaveLength(3);
});

test('a server that is slow to answer lines keeps its first process', async () => {
  const log = logFile();
  const upstream = connection(serverSpec(['late-init=3000', log.flag]));
  const handshake = await upstream.connect();
  expect(handshake.framing).toBeUndefined();
  const started = log.lines().flatMap((line) => JSON.parse(line).started ?? []);
  expect(upstream.diagnostics().pid).toBe(started[0]);
  for (const other of started.slice(1)) await until(() => !isRunning(other));
  expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
});

test('where only one process may run, frames are tried in its place', async () => {
  const log = logFile();
  const spec = stdioSpec(process.execPath, [fixture('framed.mjs'), 'strict', log.flag]);
  const upstream = connection(spec, { places: createListingLimit(1) });
  expect((await upstream.connect('list')).framing).toBe('content-length');
  const [first = '', second, ...others] = log.lines();
  expect([isRunning(Number(first)), isRunning(Number(second)), others]).toEqual([false, true, []]);
});

test('where only one process may run, a server of lines that was slow is started again with lines', async () => {
  const log = logFile();
  const upstream = connection(serverSpec(['late-init=3000', log.flag]), { places: createListingLimit(1) });
  expect((await upstream.connect('list')).framing).toBeUndefined();
  const started = log.lines().flatMap((line) => JSON.parse(line).started ?? []);
  expect(started.map(isRunning)).toEqual(started.map((pid) => pid === upstream.diagnostics().pid));
  expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
});

/** Notes its start, and is idle for three seconds before it looks at its input. */
const LATE = `
  require('node:fs').appendFileSync(process.argv[2].slice(4), process.pid + '\\n');
  setTimeout(() => import(process.argv[1]), 3000);`;

test.skipIf(process.platform !== 'linux')(
  'a server that has not read its input yet is not started a second time, however long it is idle (on Linux)',
  async () => {
    const log = logFile();
    const upstream = connection(stdioSpec(process.execPath, ['-e', LATE, fixture('framed.mjs'), log.flag]));
    expect((await upstream.connect()).framing).toBeUndefined();
    // The process notes itself twice, and no other one is noted.
    const { pid } = upstream.diagnostics();
    expect(log.lines()).toEqual([`${pid}`, `${pid}`]);
  },
);
