/** The tests that hold for every client: what its model is shown of mcpx, of every kind of result, and after a restart. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLIENTS } from '../../src/front/known-clients.ts';
import { start } from '../e2e/program.ts';
import { converse, type Home, makeHome, type Spoken } from './conversation.ts';
import type { Reply, ShownResult } from './dialects.ts';
import type { Step } from './model.ts';
import type { Client } from './programs.ts';

const desk = (tool: string, input: unknown = {}, more: Record<string, unknown> = {}): Reply => ({
  tool: 'exec',
  input: { server_name: 'desk', tool_name: tool, arguments: input, ...more },
});

/** The id under which a long result was kept, from the answer that the model was shown. */
const keptId = (shown: ShownResult) => /"result":"([^"]+)"/.exec(unquoted(shown).text)?.[1] ?? 'none';

/** The steps of the model, by name, in this order. */
const STEPS = {
  signature: () => ({ tool: 'inspect', input: { server_name: 'desk', tool_name: 'list_guests' } }),
  table: () => desk('list_guests', { count: 20 }),
  part: () => desk('list_guests', { count: 20 }, { select: 'guests[6].name' }),
  count: () => desk('list_guests', { count: 20 }, { select: 'length(guests)' }),
  batch: () => ({
    tool: 'exec',
    input: {
      calls: [
        { server_name: 'desk', tool_name: 'greet', arguments: { name: 'Ada' } },
        { server_name: 'desk', tool_name: 'list_guests', arguments: { count: 1 } },
        { server_name: 'desk', tool_name: 'ring_bell', arguments: {} },
        { server_name: 'math', tool_name: 'calculate', arguments: { expression: '6*7' } },
      ],
      onError: 'continue',
    },
  }),
  scalar: () => desk('count_rooms'),
  image: () => desk('draw'),
  long: () => desk('read_book', { lines: 5000 }),
  more: ({ results }) => {
    const [long] = results.slice(-1);
    return { tool: 'inspect', input: { result: long ? keptId(long) : '', query: 'line 4321 of' } };
  },
  failure: () => desk('ring_bell'),
  mistake: () => desk('greet', { who: 'Ada' }),
} satisfies Record<string, Step>;

type Name = keyof typeof STEPS;

/** The tests of one client; `more` adds its own, on the same conversation. */
export function describeClient(client: Client, more: (shown: (name: Name) => ShownResult) => void = () => undefined) {
  describe.skipIf(client.command === undefined)(`${client.title}, where it is installed,`, () => {
    let spoken: Spoken;
    let place: Home;
    const shown = (name: Name) => spoken.results[Object.keys(STEPS).indexOf(name)]!;

    beforeAll(async () => {
      place = makeHome();
      spoken = await converse(client, place, Object.values(STEPS), { kind: 'documented' });
    });
    afterAll(() => place?.remove());

    describeMenu(() => spoken);
    describeResults(shown);
    describeImages(client, shown);
    more(shown);

    const reads = client.reads ?? CLIENTS.find(({ title }) => title === client.title)?.reads;
    test(`shows of a result with text and structuredContent: ${reads}`, async () => {
      expect(await partsShown(client)).toBe(reads);
    });

    test('works on after a restart of mcpx over HTTP', async () => {
      const results = await acrossRestart(client);
      expect(results.map(({ text }) => text)).toEqual([
        expect.stringContaining('Good morning, Ada!'),
        expect.stringContaining('Good morning, Grace!'),
      ]);
    });
  });
}

function describeMenu(spoken: () => Spoken): void {
  test('shows the model inspect and exec, and the whole menu', () => {
    const { tools } = spoken();
    const inspect = tools.find(({ name }) => name === 'inspect')!;
    expect(inspect.description).toContain('list_guests');
    expect(inspect.description).toContain('convert_base');
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['exec', 'inspect']));
  });

  test('leaves room for arguments in the schema of exec', () => {
    const { properties } = spoken().tools.find(({ name }) => name === 'exec')!.schema;
    expect(properties.arguments.additionalProperties).not.toBe(false);
    expect(properties.arguments.type).toMatch(/^object$/i);
    expect(Object.keys(properties.calls.items.properties).sort()).toEqual(['arguments', 'tool']);
  });

  test('reaches nothing beyond loopback', () => {
    expect(spoken().strays).toEqual([]);
  });
}

function describeResults(shown: (name: Name) => ShownResult): void {
  test('shows a signature in TypeScript and no JSON Schema', () => {
    expect(shown('signature').text).toContain('list_guests(args: {');
    expect(shown('signature').text).not.toMatch(/inputSchema|"properties"/);
  });

  test('shows rows as a table, once', () => {
    expect(shown('table').text).toContain('guests[20]{id,name,city}:');
    expect(shown('table').text.match(/guest 20\b/g)).toHaveLength(1);
  });

  test.each([
    ['part', 'guest 7'],
    ['count', '20'],
  ] as const)('shows a selected %s and nothing else', (name, expected) => {
    expect(shown(name).text).toContain(expected);
    expect(shown(name).text).not.toMatch(/guest 8|city|error/i);
  });

  test('shows the text of a server that is a number', () => {
    expect(shown('scalar').text).toContain('42');
    expect(shown('scalar').text).not.toMatch(/error/i);
  });

  test('shows every slot of a batch', () => {
    const { text } = shown('batch');
    for (const slot of ['Good morning, Ada!', 'guest 1', 'the bell is broken', '42']) expect(text).toContain(slot);
    expect(text).not.toContain('"results"');
  });

  test('shows the beginning of a long result, how to read on, and the part that was asked for', () => {
    const { text } = unquoted(shown('long'));
    expect(text).toContain('line 1 of the book');
    expect(text).not.toContain('line 5000 of the book');
    expect(text).toMatch(/inspect \{"result":"/);
    expect(text).not.toMatch(/truncated/i);
    expect(shown('more').text).toContain('line 4321 of the book');
  });

  test('shows why a tool failed', () => {
    expect(shown('failure').text).toContain('the bell is broken');
  });

  test('shows how a tool is called after a wrong call', () => {
    const { text } = unquoted(shown('mistake'));
    expect(text).toContain('name: missing; you gave "who"');
    expect(text).toContain('example: exec {');
  });
}

function describeImages({ images }: Client, shown: (name: Name) => ShownResult): void {
  test(
    images === undefined ? 'shows an image beside its text' : `shows ${images} for an image, beside its text`,
    () => {
      const { text, images: seen } = shown('image');
      expect(text).toContain('one pixel');
      expect(seen).toEqual(images === undefined ? ['image/png'] : []);
      expect(text.includes('iVBORw0KGgo')).toBe(images === 'base64 as text');
    },
  );
}

/** Some clients show results as JSON, Gemini CLI failed ones. */
function unquoted({ text, images }: ShownResult): ShownResult {
  return { text: text.replaceAll('\\"', '"'), images };
}

/** The parts of a result that reach the model, where mcpx sends text and structuredContent to every client. */
async function partsShown(client: Client): Promise<string> {
  const place = makeHome({ front: { structured: 'always' } });
  try {
    const { results } = await converse(client, place, [() => desk('list_guests', { count: 3 })], {
      kind: 'documented',
    });
    const { text } = unquoted(results[0]!);
    const [isText, isStructured] = [text.includes('guests[3]{id,name,city}:'), /"guests": ?\[\{/.test(text)];
    if (isText && isStructured) return 'both';
    return isText ? 'text' : isStructured ? 'structured' : 'nothing';
  } finally {
    place.remove();
  }
}

/** Two calls over HTTP, with another process of mcpx for the second one. */
async function acrossRestart(client: Client): Promise<ShownResult[]> {
  const place = makeHome();
  try {
    const serve = async (port: string) => {
      const running = start(['serve', '--http', '--port', port], place);
      const [, url = ''] = await running.wrote('stderr', /listening on (\S+)/);
      return { running, url };
    };
    let { running, url } = await serve('0');
    const restarted = async () => {
      running.child.kill('SIGTERM');
      await running.finished;
      ({ running } = await serve(new URL(url).port));
      return desk('greet', { name: 'Grace' });
    };
    const { results } = await converse(client, place, [() => desk('greet', { name: 'Ada' }), restarted], {
      kind: 'http',
      url: `${new URL(url).origin}/mcp`,
    });
    running.child.kill('SIGTERM');
    await running.finished;
    return results;
  } finally {
    place.remove();
  }
}
