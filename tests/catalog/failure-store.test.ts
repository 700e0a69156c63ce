/** The last failure of a server on disk: bounded, without secrets, and gone when the server works. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createFailureStore } from '../../src/catalog/failure-store.ts';
import { McpxError } from '../../src/errors.ts';
import { stdioSpec } from '../upstream/world.ts';

function storeIn(folder = mkdtempSync(join(tmpdir(), 'mcpx-failures-'))) {
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, store: createFailureStore({ folder }) };
}

const spec = stdioSpec('x', [], { name: 'a', env: { API_TOKEN: 'hunter2-hunter2' } });

test('a failure is read again, and is gone when the server works', () => {
  const { store } = storeIn();
  expect(store.read(spec)).toBeUndefined();
  store.record(spec, new McpxError('unreachable', 'server "a" exited with code 1', { hint: 'look' }));
  expect(store.read(spec)).toEqual({
    at: expect.any(Number),
    code: 'unreachable',
    message: 'server "a" exited with code 1',
    hint: 'look',
  });
  store.clear(spec);
  expect(store.read(spec)).toBeUndefined();
});

test('a failure of another launch is not that of this one', () => {
  const { store } = storeIn();
  store.record(spec, new Error('no'));
  expect(store.read(stdioSpec('y', [], { name: 'a' }))).toBeUndefined();
});

test('a failure that a sign-in solves says so; a cancelled request is none', () => {
  const { store } = storeIn();
  store.record(spec, new McpxError('cancelled', 'interrupted'));
  expect(store.read(spec)).toBeUndefined();
  store.record(spec, new McpxError('auth', 'server "a" needs sign-in', { data: { signIn: 'a' } }));
  expect(store.read(spec)).toMatchObject({ code: 'auth', signIn: true });
});

test('a start or a list without an answer is slow, an exit is not', () => {
  const { store } = storeIn();
  const slow = [new McpxError('unreachable', 'no start', { fault: 'slow' }), new McpxError('timeout', 'no list')];
  for (const failure of slow) {
    store.record(spec, failure);
    expect(store.read(spec)).toMatchObject({ slow: true });
  }
  store.record(spec, new McpxError('unreachable', 'it exited', { fault: 'exited' }));
  expect(store.read(spec)).not.toHaveProperty('slow');
});

test('the file holds no secret and has a limit', () => {
  const { store, folder } = storeIn();
  store.record(spec, new McpxError('unreachable', `it said hunter2-hunter2 ${'x'.repeat(10_000)}`));
  const [file = ''] = readdirSync(folder);
  const text = readFileSync(join(folder, file), 'utf8');
  expect(text).not.toContain('hunter2');
  expect(text.length).toBeLessThan(1500);
});

test('a damaged file and a folder that cannot be written are no failure', () => {
  const { store, folder } = storeIn();
  store.record(spec, new Error('no'));
  const [file = ''] = readdirSync(folder);
  writeFileSync(join(folder, file), '{"at":');
  expect(store.read(spec)).toBeUndefined();
  writeFileSync(join(folder, 'file'), '');
  const blocked = createFailureStore({ folder: join(folder, 'file', 'x') });
  blocked.record(spec, new Error('no'));
  blocked.clear(spec);
  expect(blocked.read(spec)).toBeUndefined();
});
