/** What ties a request that is sent upstream to its client: whom its questions reach. */
import { describe, expect, test } from 'vitest';
import type { Way } from '../../src/router/request.ts';
import { answerQuestion } from '../../src/router/reverse.ts';
import { send } from '../../src/router/ties.ts';
import type { Connection } from '../../src/upstream/connection.ts';
import type { Message } from '../../src/wire/message.ts';
import { createPeer, type Receiver } from '../../src/wire/peer.ts';
import { specOf } from '../world.ts';

const HOW = { repeatable: false, transparent: false };
const ABLE = { roots: {}, sampling: {}, elicitation: {} };

describe('a question that names no call', () => {
  /** A server of the other era that never answers, and asks when it is told to. */
  function server() {
    const answers: Message[] = [];
    let receiver: Receiver | undefined;
    const channel = {
      start: (to: Receiver) => {
        receiver = to;
      },
      send: (message: Message) => void ('method' in message || answers.push(message)),
      close: async () => undefined,
    };
    const peer = createPeer(channel, { request: (request, incoming) => answerQuestion('x', request, incoming) });
    const connection = { name: 'x', spec: specOf('x'), request: peer.request } as unknown as Connection;
    const ask = async (id: number) => {
      receiver?.message({ jsonrpc: '2.0', id, method: 'roots/list' });
      await expect.poll(() => answers.length).toBe(1);
      return answers.pop();
    };
    return { connection, ask };
  }
  const caller = { key: 'k', capabilities: ABLE };
  const wayOf = (name: string, more: Partial<Way> = {}): Way => ({ caller, ask: async () => ({ name }), ...more });

  test('is for the request whose calls are under way, and for nobody where there are two of one client', async () => {
    const { connection, ask } = server();
    const [one, two] = ['one', 'two'].map((name) => wayOf(name, { inputs: {} })) as [Way, Way];
    for (const way of [one, { ...one }]) void send(connection, 'tools/call', {}, way, HOW);
    expect(await ask(1)).toMatchObject({ result: { name: 'one' } });
    void send(connection, 'tools/call', {}, two, HOW);
    expect(await ask(2)).toMatchObject({ error: { message: expect.stringContaining('several calls') } });
  });

  test('is for the client of all calls where it can be asked at any time', async () => {
    const { connection, ask } = server();
    for (const name of ['one', 'two']) void send(connection, 'tools/call', {}, wayOf(name), HOW);
    expect(await ask(1)).toMatchObject({ result: { name: 'two' } });
  });
});
