/** The features of MCP, one check each: what a client sees through mcpx is what the server does. */
import { expect } from 'vitest';
import type { Asked, Conversation } from './conversation.ts';
import type { Downstream } from './downstreams.ts';
import type { Call, Era, Transport, Upstream, Words } from './upstreams.ts';

/** The client, the server and the transports of one combination. */
export interface Cell {
  downstream: Downstream;
  transport: Transport;
  upstream: Upstream;
}

export interface Feature {
  name: string;
  /** Capabilities that the client must have. */
  can: Asked[];
  check(client: Conversation, words: Words, era: Era): Promise<void>;
  /** Where a revision of the protocol has no way for it: why, and what is seen instead. */
  impossible?: { why(cell: Cell): string | undefined; check(client: Conversation, words: Words): Promise<void> };
}

const MAY_BE_ASKED: Asked[] = ['sampling', 'elicitation'];

const textOf = (result: any): string => result.content.map((part: { text?: string }) => part.text ?? '').join('\n');

async function expectCall(client: Conversation, { says, ...params }: Call, asking = {}): Promise<any> {
  const result = await client.request('tools/call', params, asking);
  expect(textOf(result)).toMatch(says);
  expect(result.isError ?? false).toBe(false);
  return result;
}

/** Returns the message of a call that fails, from a result or from an error. */
async function complaint(client: Conversation, { says: _, ...params }: Call): Promise<string> {
  try {
    const result = await client.request('tools/call', params);
    return result.isError ? textOf(result) : `succeeded: ${textOf(result)}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** A request that stands alone has no stream on which it could be asked something, and says no capabilities. */
const nobodyToAsk = (question: (words: Words) => Call): NonNullable<Feature['impossible']> => ({
  why: ({ downstream, transport }) =>
    downstream.session[transport] ? undefined : 'a request without a session has nobody to ask',
  async check(client, words) {
    expect(await complaint(client, question(words))).toMatch(/cannot answer|Unknown tool/);
  },
});

const question = (name: string, can: Asked[], ask: (words: Words) => Call): Feature => ({
  name,
  can,
  impossible: nobodyToAsk(ask),
  async check(client, words) {
    await expectCall(client, ask(words));
  },
});

async function checkTools(client: Conversation, { echo }: Words): Promise<void> {
  const { tools } = await client.request('tools/list');
  expect(tools.map(({ name }: { name: string }) => name)).toContain(echo.name);
  await expectCall(client, echo);
  const unknown = await complaint(client, { name: 'no-such-tool', arguments: {}, says: /./ });
  expect(unknown).toMatch(/no-such-tool/);
}

async function checkResources(client: Conversation, { resource, expanded }: Words): Promise<void> {
  const { resources } = await client.request('resources/list');
  expect(resources.map(({ uri }: { uri: string }) => uri)).toContain(resource.uri);
  const { resourceTemplates } = await client.request('resources/templates/list');
  const templates = resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate);
  expect(templates).toContain(expanded.template);
  for (const { uri, says } of [resource, expanded]) {
    const { contents } = await client.request('resources/read', { uri });
    expect(contents[0]).toMatchObject({ uri, text: expect.stringMatching(says) });
  }
}

async function checkPrompts(client: Conversation, { prompt: { says, ...params } }: Words): Promise<void> {
  const { prompts } = await client.request('prompts/list');
  expect(prompts.map(({ name }: { name: string }) => name)).toContain(params.name);
  const { messages } = await client.request('prompts/get', params);
  expect(messages[0].content.text).toMatch(says);
}

async function checkCompletion(client: Conversation, { completion: { values, ...params } }: Words): Promise<void> {
  const answer = await client.request('completion/complete', params);
  expect(answer.completion.values).toEqual(values);
}

async function checkProgress(client: Conversation, { steps }: Words): Promise<void> {
  const seen: number[] = [];
  await expectCall(client, steps, { progress: ({ progress }: { progress: number }) => seen.push(progress) });
  expect(seen).toEqual([1, 2, 3]);
}

let labels = 0;

/** The server learns of it, and the conversation goes on. */
async function checkCancel(client: Conversation, words: Words): Promise<void> {
  const label = `call ${process.pid} ${labels++}`;
  const { says: _, ...params } = words.wait(label);
  const abort = new AbortController();
  const waiting = client.request('tools/call', params, { signal: abort.signal, progress: () => abort.abort() });
  await expect(waiting).rejects.toThrow(/abort/i);
  await expectCall(client, words.echo);
  if (words.noticed === undefined) return;
  const { says, ...noticed } = words.noticed(label);
  await expect.poll(async () => textOf(await client.request('tools/call', noticed))).toMatch(says);
}

/** The level is set once in the legacy era, and said with every request in the modern one. */
async function checkLogging(client: Conversation, { log }: Words, era: Era): Promise<void> {
  const from = client.heard.all.length;
  if (era === 'legacy') await client.request('logging/setLevel', { level: 'debug' });
  const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
  const call = era === 'legacy' ? log.call : { ...log.call, _meta };
  await expectCall(client, call);
  // A server may log other things meanwhile, such as the roots that it was told.
  const logged = () => client.heard.all.slice(from).filter(({ method }) => method === 'notifications/message');
  const level = () => logged().find(({ params }) => log.data.test(String(params.data)))?.params.level;
  await expect.poll(level).toEqual(expect.any(String));
  if (log.after) await expectCall(client, log.after);
}

const namesIn = async (client: Conversation, list: string): Promise<string[]> =>
  (await client.request(`${list}/list`))[list].map(({ name }: { name: string }) => name);

/** Adds something and returns what it is called in the list. */
async function grow(client: Conversation, { grow: { call } }: Words): Promise<string> {
  const name = `grown ${process.pid} ${labels++}`;
  return textOf(await expectCall(client, call(name))) || name;
}

async function checkChange(client: Conversation, words: Words): Promise<void> {
  const { list } = words.grow;
  await client.listen();
  const from = client.heard.all.length;
  const grown = await grow(client, words);
  await client.heard.next(`notifications/${list}/list_changed`, from);
  await expect.poll(() => namesIn(client, list)).toContain(grown);
}

export const FEATURES: Feature[] = [
  { name: 'tools', can: MAY_BE_ASKED, check: checkTools },
  { name: 'resources', can: MAY_BE_ASKED, check: checkResources },
  { name: 'prompts', can: MAY_BE_ASKED, check: checkPrompts },
  { name: 'completion', can: MAY_BE_ASKED, check: checkCompletion },
  { name: 'progress', can: MAY_BE_ASKED, check: checkProgress },
  { name: 'cancel', can: MAY_BE_ASKED, check: checkCancel },
  question('sampling', MAY_BE_ASKED, ({ sample }) => sample),
  question('elicitation', MAY_BE_ASKED, ({ elicit }) => elicit),
  question('elicitation of a page', MAY_BE_ASKED, ({ open }) => open),
  question('roots', ['roots'], ({ roots }) => roots),
  {
    name: 'logging',
    can: MAY_BE_ASKED,
    check: checkLogging,
    impossible: {
      why: ({ downstream, transport, upstream }) =>
        downstream.session[transport] || upstream.era === 'legacy'
          ? undefined
          : 'without a session there is no level, and servers of the modern era say nothing without one',
      async check(client, { log: { call } }) {
        await expectCall(client, call);
        expect(client.heard.all).toEqual([]);
      },
    },
  },
  {
    name: 'list_changed',
    can: MAY_BE_ASKED,
    check: checkChange,
    impossible: {
      why: ({ downstream, transport }) =>
        downstream.session[transport] ? undefined : 'between two requests without a session nothing is told',
      async check(client, words) {
        const grown = await grow(client, words);
        // The next list has it all the same.
        await expect.poll(() => namesIn(client, words.grow.list)).toContain(grown);
      },
    },
  },
];
