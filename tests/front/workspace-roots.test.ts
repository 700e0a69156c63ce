/** The roots of a client are asked for once, and only where a server depends on them. */
import { expect, test } from 'vitest';
import { createRootsQuestion } from '../../src/front/workspace-roots.ts';
import type { ClientIdentity } from '../../src/upstream/client-identity.ts';
import { createWorld } from '../world.ts';

const inWorkspace = { type: 'stdio', command: 'x', args: ['${workspaceFolder}'] } as never;

function open(spec: object, answer: () => Promise<unknown>, capabilities: Record<string, unknown> = { roots: {} }) {
  const world = createWorld({ a: { spec } });
  let asked = 0;
  const identity: ClientIdentity = { key: 'k', capabilities };
  const client = { router: world.router, identity };
  const ask = () => {
    asked++;
    return answer();
  };
  const roots = createRootsQuestion(client);
  return { learn: () => roots.learn({ ask }), forget: roots.forget, client, asked: () => asked };
}

test('a server in the workspace folder gets the first root', async () => {
  const { learn, client, asked } = open(inWorkspace, async () => ({ roots: [{ uri: 'file:///w' }, { uri: 5 }, 'x'] }));
  await Promise.all([learn(), learn()]);
  expect(client.identity.roots).toEqual(['file:///w']);
  expect(asked()).toBe(1);
});

test('they are asked for again when the client says that they have changed', async () => {
  const { learn, forget, asked } = open(inWorkspace, async () => ({ roots: [] }));
  await learn();
  forget();
  await learn();
  await learn();
  expect(asked()).toBe(2);
});

test.each([
  ['no server depends on it', {}, { roots: {} }],
  ['the client has none', inWorkspace, {}],
])('nobody is asked where %s', async (_, spec, capabilities) => {
  const { learn, client, asked } = open(spec, async () => ({ roots: [] }), capabilities);
  await learn();
  expect([asked(), client.identity.roots]).toEqual([0, undefined]);
});

test('a client that refuses or babbles is left alone', async () => {
  for (const answer of [() => Promise.reject(new Error('no')), async () => 'roots', async () => ({ roots: 5 })]) {
    const { learn, client } = open(inWorkspace, answer);
    await learn();
    expect(client.identity.roots).toBeUndefined();
  }
});
