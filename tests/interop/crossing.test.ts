/** Clients at once, with the same request ids and the same progress tokens, on one server: nothing of one reaches another. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Conversation, Target } from './conversation.ts';
import { type Gateway, startGateway, TRANSPARENT } from './gateway.ts';
import { talkBytes, talkHttp, talkModern, talkSession } from './raw.ts';
import { type Served, type Transport, UPSTREAMS } from './upstreams.ts';

/** Each numbers its requests from 0, and uses the number as the token. */
const WAYS: Record<string, (target: Target) => Promise<Conversation>> = {
  'sessions over HTTP': talkSession,
  'requests that stand alone': talkHttp,
  'processes on stdio': (target) => talkBytes(target, []),
  'requests of the modern era': talkModern,
};
const SERVERS: [name: string, upstream: keyof typeof UPSTREAMS, transport: Transport][] = [
  ['a server on stdio', 'v1', 'stdio'],
  ['a server over HTTP', 'v1', 'http'],
  ['a modern server on stdio', 'v2Modern', 'stdio'],
  ['a modern server over HTTP', 'v2Modern', 'http'],
];

const textOf = (result: any): string => result.content[0].text;

/** A call whose steps carry its label; answers with what was heard of it. */
async function steps(client: Conversation, label: string, count: number): Promise<string[]> {
  const heard: string[] = [];
  const progress = ({ message = '' }) => heard.push(message);
  const result = await client.request('tools/call', { name: 'steps', arguments: { count, label } }, { progress });
  return [...heard, textOf(result)];
}

const stepsOf = (label: string, count: number) => [
  ...Array.from({ length: count }, (_, step) => `${label}${step + 1}`),
  `${count} steps`,
];

/** A call that runs until it is aborted, once it is known to run. */
function waiting(client: Conversation, label: string) {
  const abort = new AbortController();
  let ended = false;
  const running = new Promise<void>((resolve, reject) => {
    const asking = { signal: abort.signal, progress: () => resolve() };
    client.request('tools/call', { name: 'wait', arguments: { label } }, asking).catch((error) => {
      ended = true;
      reject(error);
    });
  });
  return { running, abort: () => abort.abort(), ended: () => ended };
}

/** Somebody who answers every question with a name. */
async function person(name: string, url: string) {
  const client = new Client({ name, version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as any);
  onTestFinished(() => client.close());
  const elicit = () =>
    client.callTool({ name: 'elicit', arguments: { message: 'who?' } }).then(textOf, (error: Error) => error.message);
  return { name, elicit };
}

describe.each(SERVERS)('on %s', (_, upstream, transport) => {
  let served: Served;
  let gateway: Gateway;
  beforeAll(async () => {
    served = await UPSTREAMS[upstream].serve[transport]();
    gateway = await startGateway({ ...TRANSPARENT, mcpServers: { only: served.entry } });
  });
  afterAll(async () => {
    await gateway?.stop();
    served?.stop();
  });

  test('a question reaches the client whose call it is about, or nobody', async () => {
    const all = await Promise.all(['Ada', 'Grace', 'Alan'].map((name) => person(name, gateway.url)));
    const calls = all.flatMap(({ name, elicit }) =>
      Array.from({ length: 4 }, async () => ({ name, said: await elicit() })),
    );
    const nobody = /several calls are under way/;
    for (const { name, said } of await Promise.all(calls)) if (!nobody.test(said)) expect(said).toBe(`accept: ${name}`);
    // Over HTTP every question comes on the stream of its call, and the modern era has no others.
    const outcomes = await Promise.all(all.map(({ elicit }) => elicit()));
    if (transport === 'http' || upstream === 'v2Modern')
      expect(outcomes).toEqual(['accept: Ada', 'accept: Grace', 'accept: Alan']);
    // One at a time everybody is asked.
    for (const { name, elicit } of all) expect(await elicit()).toBe(`accept: ${name}`);
    // Several calls of one client leave no doubt who is meant.
    const [{ elicit }] = all as [(typeof all)[0]];
    expect(await Promise.all([elicit(), elicit(), elicit()])).toEqual(Array(3).fill('accept: Ada'));
  });

  describe.each(Object.entries(WAYS))('%s', (way, open) => {
    const clients = async (count: number) => {
      const all = await Promise.all(Array.from({ length: count }, () => open(gateway)));
      onTestFinished(async () => void (await Promise.all(all.map((one) => one.close()))));
      return all;
    };

    test('answers and progress reach who asked', async () => {
      const all = await clients(3);
      const calls = all.flatMap((client, i) =>
        [0, 1, 2].map((j) => ({ client, label: `client ${i} call ${j} step `, count: 2 + i + j })),
      );
      const heard = await Promise.all(calls.map(({ client, label, count }) => steps(client, label, count)));
      expect(heard).toEqual(calls.map(({ label, count }) => stepsOf(label, count)));
    });

    test('a cancellation ends the call of its own client', async () => {
      const [one, two] = (await clients(2)) as [Conversation, Conversation];
      const label = (name: string) => `${way} ${upstream} ${transport} ${name}`;
      const [mine, theirs] = [waiting(one, label('one')), waiting(two, label('two'))];
      await Promise.all([mine.running, theirs.running]);
      const noticed = async (name: string, asked: Conversation) =>
        textOf(await asked.request('tools/call', { name: 'cancelled', arguments: { label: label(name) } }));
      mine.abort();
      await expect.poll(() => noticed('one', one)).toBe('true');
      expect(await noticed('two', two)).toBe('false');
      expect(theirs.ended()).toBe(false);
      theirs.abort();
      await expect.poll(() => noticed('two', two)).toBe('true');
    });
  });
});
