/** References in the arguments of `exec`: earlier calls, kept results, elements of a list, and the bounds of `each`. */
import { describe, expect, test } from 'vitest';
import { DEFAULTS, type Settings } from '../../../src/config/config.ts';

import type { Exchange } from '../../../src/front/front-interface.ts';
import type { Params } from '../../../src/wire/message.ts';
import { createWorld, openFront } from '../../world.ts';

const TOOLS = [
  { name: 'list', annotations: { readOnlyHint: true } },
  { name: 'save', inputSchema: { type: 'object', properties: { content: { type: 'string' }, any: {} } } },
  { name: 'fail' },
  { name: 'read', annotations: { readOnlyHint: true } },
];

type Result = { content: { type: string; text: string }[]; isError?: boolean; structuredContent?: unknown };

/** `list` answers with this; `save` and `read` answer with what they were given. */
function open(listed: unknown, { settings = {} as Partial<Settings>, capabilities = {} } = {}) {
  const whole = { ...DEFAULTS, ...settings };
  const world = createWorld(
    {
      s: {
        tools: TOOLS,
        answer: (_, params = {}) => {
          if (params.name === 'list') return listed;
          if (params.name === 'fail' || (params.arguments as Params)?.any === 'bad') {
            return { isError: true, content: [{ type: 'text', text: 'disk full' }] };
          }
          return { structuredContent: { got: params.arguments } };
        },
      },
    },
    { settings: whole },
  );
  const front = openFront(
    'compact',
    { ...world.deps, identity: { key: 'k', capabilities } },
    {
      key: 'k',
      notify: () => undefined,
    },
  );
  const exec = async (args: Params, exchange: Partial<Exchange> = {}) =>
    (await front.request(
      { method: 'tools/call', params: { name: 'exec', arguments: args } },
      { signal: new AbortController().signal, ...exchange },
    )) as Result;
  /** Returns the arguments that reached `save`, after `list` as call 0. */
  const saved = async (args: unknown, more: Params = {}) => {
    const { content } = await exec({ calls: [{ tool: 's.list' }, { tool: 's.save', arguments: args, ...more }] });
    const got = world.sent.filter(({ params }) => params?.name === 'save').map(({ params }) => params?.arguments);
    return { got, said: content.map(({ text }) => text) };
  };
  return { ...world, exec, saved };
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const structured = (value: unknown) => ({ structuredContent: value });
const said = ({ content }: Result) => content.map((block) => block.text).join('');

const CHANNELS = {
  channels: [
    { name: 'general', id: 'C1' },
    { name: 'release', id: 'C2' },
  ],
  total: 2,
  url: 'http://x/2',
};

describe('a reference', () => {
  test.each<[string, unknown]>([
    ["0.channels[?name=='release'].id | [0]", 'C2'],
    ['0.channels[?name==`release`].id | [0]', 'C2'],
    ["0.channels[?name=='release'][0].id", 'C2'],
    ['0.channels[*].id', ['C1', 'C2']],
    ['length(0.channels)', 2],
    ['0.channels | length(@)', 2],
    ["join(', ', 0.channels[*].name)", 'general, release'],
    ['{a: 0.total, b: 0.channels[0].id}', { a: 2, b: 'C1' }],
    ['[0.total, 0.channels[0:1].id]', [2, ['C1']]],
    ['0', CHANNELS],
    ['0.total', 2],
  ])('%s is JMESPath over what the call gave', async ($from, expected) => {
    expect((await open(structured(CHANNELS)).saved({ any: { $from } })).got).toEqual([{ any: expected }]);
  });

  test.each<[string, string]>([
    ['see {{0.url}}', 'see http://x/2'],
    ['{{ 0.channels[0].id }}-{{0.total}}', 'C1-2'],
    ['{{0.channels}}', JSON.stringify(CHANNELS.channels)],
    ["{{0.channels[?name=='release'].id | [0]}}!", 'C2!'],
    ['\\{{0.url}}', '{{0.url}}'],
    [
      '{{ name }} ${{ secrets.X }} {{7.x}} {{item}} {{r123}} {{}}',
      '{{ name }} ${{ secrets.X }} {{7.x}} {{item}} {{r123}} {{}}',
    ],
  ])('%j inside a string', async (content, expected) => {
    expect((await open(structured(CHANNELS)).saved({ content, any: [{ deep: content }] })).got).toEqual([
      { content: expected, any: [{ deep: expected }] },
    ]);
  });

  test('is to what the select of the call gave', async () => {
    const { exec, sent } = open(structured(CHANNELS));
    await exec({
      calls: [
        { tool: 's.list', select: 'channels[1]' },
        { tool: 's.save', arguments: { content: { $from: '0.id' } } },
      ],
    });
    expect(sent.at(-1)?.params?.arguments).toEqual({ content: 'C2' });
  });

  test('to a text is the text, its lines, or the JSON in it', async () => {
    const log = open(text('one\ntwo ERROR\nthree\n'));
    const any = (from: string) => ({ any: { $from: from } });
    expect((await log.saved(any('0'))).got.at(-1)).toEqual({ any: 'one\ntwo ERROR\nthree\n' });
    expect((await log.saved(any('0[-1]'))).got.at(-1)).toEqual({ any: 'three' });
    expect((await log.saved(any("0[?contains(@,'ERROR')]"))).got.at(-1)).toEqual({ any: ['two ERROR'] });
    expect((await log.saved(any("0 | replace(@, 'ERROR', 'error')"))).got.at(-1)).toEqual({
      any: 'one\ntwo error\nthree\n',
    });
    const json = '{ "a":  [1, 2] }';
    const file = open({ ...text(json), structuredContent: { content: json } });
    expect((await file.saved(any('0'))).got.at(-1)).toEqual({ any: { a: [1, 2] } });
    expect((await file.saved(any('0.a[1]'))).got.at(-1)).toEqual({ any: 2 });
    // Where the tool wants a string, JSON text is taken as the server wrote it.
    expect((await file.saved({ content: { $from: '0' } })).got.at(-1)).toEqual({ content: json });
    expect((await file.saved({ content: { $from: '0.a' } })).got.at(-1)).toEqual({ content: '[1,2]' });
  });

  test.each<[string, string]>([
    ['1.x', 'must name an earlier call: this is call 1'],
    ['0.channels[?id==`9`].id | [0]', 'selects nothing'],
    ['0.channels[', 'is no reference'],
    ['0 | nope(@)', 'there is no function nope()'],
    ['item.x', '"item" is an element of "each", which this call does not have'],
    ['r12345', 'no result is kept as "r12345"'],
    ['channels.x', '"channels" is neither an earlier call nor a kept result'],
    ['', 'is no reference'],
    ['0.constructor', 'there is nothing at'],
  ])('%j is refused with a reason', async ($from, expected) => {
    const { got, said: texts } = await open(structured(CHANNELS)).saved({ any: { $from } });
    expect(got).toEqual([]);
    expect(texts[1]).toContain(expected);
  });

  test('fills in a limited amount of text', async () => {
    const { exec, sent } = open(text('x'.repeat(1_000_000)));
    const many = Array.from({ length: 100 }, () => '{{0}}').join('');
    const result = await exec({
      calls: [
        { tool: 's.list', show: false },
        { tool: 's.save', arguments: { content: many } },
      ],
    });
    expect(said(result)).toContain('fill in more than 64 MB');
    expect(sent).toHaveLength(1);
  });
});

describe('a kept result', () => {
  const log = Array.from({ length: 3000 }, (_, n) => `${n} ${n % 7 === 0 ? 'ERROR' : 'ok'}`).join('\n');

  test('is an argument of a later call, edited or not, and does not pass through the model', async () => {
    const { exec, sent } = open(text(log.repeat(10)));
    const shown = said(await exec({ tool: 's.list' }));
    const [, id = ''] = /"(r[0-9a-z]+)"/.exec(shown) ?? [];
    const echo = { select: 'length(got.content)' };
    await exec({ tool: 's.save', arguments: { content: { $from: id } }, ...echo });
    await exec({ tool: 's.save', arguments: { content: `# head\n{{${id}[-1]}}` }, ...echo });
    await exec({
      tool: 's.save',
      arguments: { content: { $from: `${id} | join('\n', [?contains(@,'ERROR')])` } },
      ...echo,
    });
    const contents = sent.slice(1).map(({ params }) => (params?.arguments as Params | undefined)?.content);
    const whole = log.repeat(10);
    const errors = whole.split('\n').filter((line) => line.includes('ERROR'));
    expect(contents).toEqual([whole, '# head\n2999 ok', errors.join('\n')]);
  });

  test('above limits.keepChars is shown whole and kept; below it is not kept', async () => {
    const shown = said(await open(text(log.slice(0, 17_000))).exec({ tool: 's.list' }));
    expect(shown).toContain(log.slice(0, 17_000));
    expect(shown).toMatch(
      /\[kept as "(r\w+)": \{"\$from":"\1"\} in arguments; inspect \{"result":"\1","select":"…"\}\]/,
    );
    expect(said(await open(text(log.slice(0, 15_000))).exec({ tool: 's.list' }))).toBe(log.slice(0, 15_000));
    const low = { limits: { ...DEFAULTS.limits, keepChars: 10 } };
    expect(said(await open(text('twelve chars'), { settings: low }).exec({ tool: 's.list' }))).toContain('[kept as "');
  });

  test('that was shown whole makes room for others', async () => {
    const limits = { ...DEFAULTS.limits, keepChars: 10, resultStore: 400 };
    const { exec, deps } = open(text('x'.repeat(60)), { settings: { limits } });
    for (let n = 0; n < 5; n += 1) expect(said(await exec({ tool: 's.list' }))).toContain('[kept as');
    expect(deps.clientResults.list()).toHaveLength(1);
  });

  test('is all that "show": false answers with', async () => {
    const shown = said(await open(structured(CHANNELS)).exec({ tool: 's.list', show: false }));
    expect(shown).toMatch(/^\[not shown, kept as "r\w+"; type: \{ channels: \{ name: string; id: string \}\[\]/);
    const error = await open(structured(CHANNELS)).exec({ tool: 's.fail', show: false });
    expect([error.isError, said(error)]).toEqual([true, 'disk full']);
  });

  test('of another session is not found', async () => {
    const { exec, sent } = open(text('x'));
    const result = await exec({ tool: 's.save', arguments: { content: { $from: 'r1' } } });
    expect([result.isError, said(result)]).toEqual([true, expect.stringContaining('no result is kept as "r1"')]);
    expect(sent).toEqual([]);
  });
});

describe('each', () => {
  const files = structured({ files: ['a.txt', 'b.txt', 'c.txt'] });

  test('runs a call for every element, in order, with the element and its number', async () => {
    const { exec, sent } = open(files);
    const result = await exec({
      calls: [
        { tool: 's.list', show: false },
        { tool: 's.save', each: '0.files', arguments: { content: 'f/{{item}}', any: { $from: 'index' } } },
        { tool: 's.save', arguments: { any: { $from: '1[*].got.content' } } },
      ],
    });
    expect(sent.slice(1).map(({ params }) => params?.arguments)).toEqual([
      { content: 'f/a.txt', any: 0 },
      { content: 'f/b.txt', any: 1 },
      { content: 'f/c.txt', any: 2 },
      { any: ['f/a.txt', 'f/b.txt', 'f/c.txt'] },
    ]);
    expect(result.content.map((block) => block.text.split('\n')[0])).toEqual([
      '[0] s.list',
      '[1.0] s.save "a.txt"',
      '[1.1] s.save "b.txt"',
      '[1.2] s.save "c.txt"',
      '[2] s.save',
    ]);
    expect(result.content[0]?.text).toContain('(not shown)');
    expect(result.structuredContent).toMatchObject({ results: [{}, { results: [{}, {}, {}] }, {}] });
  });

  test.each<[string, unknown, unknown[]]>([
    ['a list', ['x', { n: 1 }], ['x', { n: 1 }]],
    ['the JSON text of a list', '["x"]', ['x']],
    ['a reference', { $from: '0.files[:2]' }, ['a.txt', 'b.txt']],
    ['a list that holds references', [{ $from: '0.files[2]' }, 'y'], ['c.txt', 'y']],
    ['an empty list', [], []],
  ])('takes %s', async (_, each, expected) => {
    const { got } = await open(files).saved({ any: { $from: 'item' } }, { each });
    expect(got).toEqual(expected.map((any) => ({ any })));
  });

  test('takes the lines of a text', async () => {
    const { got } = await open(text('a.txt\n\nb.txt\n')).saved({ any: { $from: 'item' } }, { each: '0' });
    expect(got).toEqual([{ any: 'a.txt' }, { any: 'b.txt' }]);
  });

  test('stands in a single call too', async () => {
    const { exec, sent } = open(files);
    await exec({ tool: 's.read', each: ['p', 'q'], arguments: { path: '{{item}}' } });
    expect(sent.map(({ params }) => params?.arguments)).toEqual([{ path: 'p' }, { path: 'q' }]);
  });

  test('has failures in their slots, and the calls after it do not run', async () => {
    const calls = [
      { tool: 's.save', each: ['a', 'bad', 'c'], arguments: { any: { $from: 'item' } } },
      { tool: 's.list' },
    ];
    const { exec, sent } = open(files);
    const result = await exec({ calls });
    expect(result.content.map((block) => block.text.split('\n').slice(0, 2).join(' '))).toEqual([
      '[0.0] s.save "a" {"got":{"any":"a"}}',
      '[0.1] s.save "bad" failed disk full',
      '[0.2] s.save "c" {"got":{"any":"c"}}',
      expect.stringContaining('[1] s.list not run: call 0 failed'),
    ]);
    expect(result.isError).toBeUndefined();
    expect(sent).toHaveLength(3);
    expect(said(await exec({ calls, onError: 'continue' }))).toContain('[1] s.list\n');
    const stopped = await exec({ calls, onError: 'stop' });
    expect(said(stopped)).toContain('[0.2] s.save "c" not run: an element before it failed');
  });

  test.each<[string, Params, number]>([
    ['a list, before anything runs', { calls: [{ tool: 's.list' }, { tool: 's.read', each: Array(100).fill(1) }] }, 0],
    [
      'two lists together',
      {
        calls: [
          { tool: 's.read', each: Array(60).fill(1) },
          { tool: 's.read', each: Array(60).fill(1) },
        ],
      },
      0,
    ],
    [
      'what a call gave, before its first element',
      { calls: [{ tool: 's.list' }, { tool: 's.read', each: '0.many' }] },
      1,
    ],
  ])('is refused above 100 calls: %s', async (_, args, expected) => {
    const { exec, sent } = open(structured({ many: Array(100).fill(1) }));
    expect(said(await exec(args))).toMatch(/"each" of call \d has \d+ elements, and \d+ calls are left/);
    expect(sent).toHaveLength(expected);
  });

  test('that is not a list is refused with a reason', async () => {
    const { saved } = open(files);
    const answer = async (each: unknown) => (await saved({}, { each })).said.at(-1);
    expect(await answer('0')).toContain('"each" must be a list: "0" has the keys files');
    expect(await answer(5)).toContain('"each" must be a list: 5 is not one');
    expect(await answer('0.nope')).toContain('"0" has the keys files');
  });

  test('shares the room of one answer: what short results leave, later ones use', async () => {
    const limits = { ...DEFAULTS.limits, resultChars: 5000 };
    const { exec } = open(files, { settings: { limits } });
    const long = 'y'.repeat(3000);
    const { content } = await exec({ tool: 's.read', each: ['a', 'b', 'c', long], arguments: { v: '{{item}}' } });
    expect(content.at(-1)?.text).toContain(long);
  });
});

describe('a confirmation', () => {
  const settings = { policy: { ...DEFAULTS.policy, confirm: 'destructive' as const } };
  const capabilities = { elicitation: { form: {} } };

  function asked(action: string) {
    const questions: string[] = [];
    const ask: Exchange['ask'] = async (_, { message }) => {
      questions.push(String(message));
      return { action };
    };
    return { questions, ask };
  }

  test('shows the arguments with their references replaced', async () => {
    const { exec } = open(structured(CHANNELS), { settings, capabilities });
    const { questions, ask } = asked('accept');
    const save = { tool: 's.save', arguments: { content: 'see {{0.url}}' } };
    await exec({ calls: [{ tool: 's.list' }, save] }, { ask });
    expect(questions).toEqual([expect.stringContaining('Arguments: {"content":"see http://x/2"}')]);
  });

  test('asks once for all calls of an each, with the list', async () => {
    const { exec, sent } = open(structured(CHANNELS), { settings, capabilities });
    const { questions, ask } = asked('accept');
    const save = { tool: 's.save', each: '0.channels', arguments: { content: '{{item.id}}' } };
    await exec({ calls: [{ tool: 's.list' }, save] }, { ask });
    expect(questions).toEqual([
      'Run "s.save" 2 times? It is not declared read-only. Arguments:\n1. {"content":"C1"}\n2. {"content":"C2"}',
    ]);
    expect(sent).toHaveLength(3);
  });

  test('asks once if the arguments stand beside their tool', async () => {
    const { exec, sent } = open(structured({}), { settings, capabilities });
    const { questions, ask } = asked('accept');
    await exec({ tool: 's.save', each: ['a', 'b'], content: 'same' }, { ask });
    expect(questions).toEqual([expect.stringMatching(/2 times.*\n1\. {"content":"same"}\n2\. {"content":"same"}$/)]);
    expect(sent).toHaveLength(2);
  });

  test('that is declined runs none of them, and is recorded for each', async () => {
    const { exec, sent, observer } = open(structured(CHANNELS), { settings, capabilities });
    const outcomes: string[] = [];
    observer.subscribe((happening) => {
      if (happening.type === 'call_ended') outcomes.push(happening.call.outcome);
    });
    const { questions, ask } = asked('decline');
    const result = await exec({ tool: 's.save', each: ['a', 'b'], arguments: { content: '{{item}}' } }, { ask });
    expect([questions.length, sent.length, result.isError]).toEqual([1, 0, true]);
    expect(said(result).match(/the user was asked and said no/g)).toHaveLength(2);
    expect(outcomes).toEqual(['refused', 'refused']);
  });
});

describe('bounds', () => {
  test('results that later calls refer to are retained up to a limit, and others not at all', async () => {
    const big = text(`xxx\n${'y'.repeat(30 * 1024 * 1024)}`);
    const { exec, sent } = open(big);
    const lists = Array.from({ length: 5 }, () => ({ tool: 's.list', show: false }));
    const save = (from: string) => ({ tool: 's.save', arguments: { content: { $from: `${from}[0]` } } });
    const answer = said(
      await exec({ calls: [...lists, ...[0, 1, 2, 3, 4].map((n) => save(String(n)))], onError: 'continue' }),
    );
    expect(answer).toContain(
      '[9] s.save failed\nerror: not run: the results up to that of call 4 have more than 128 MB',
    );
    expect(sent.filter(({ params }) => params?.name === 'save')).toHaveLength(4);
    const unused = said(await exec({ calls: [...lists, save('4')] }));
    expect(unused).toContain('{"got":{"content":"xxx"}}');
  });

  test('a call has a limited number of different expressions, and any number of paths', async () => {
    const { saved } = open(structured({ list: Array.from({ length: 100 }, (_, n) => n) }));
    const paths = Array.from({ length: 100 }, (_, n) => ({ $from: `0.list[${n}]` }));
    expect((await saved({ any: paths })).got).toEqual([{ any: Array.from({ length: 100 }, (_, n) => n) }]);
    const expressions = Array.from({ length: 51 }, (_, n) => ({ $from: `0.list[${n}:]` }));
    expect((await saved({ any: expressions })).said[1]).toContain('more than 50 different expressions');
  });

  test('a call whose own members look like an error is a call', async () => {
    const { exec, sent } = open(structured({}));
    await exec({ tool: 's.read', each: ['a'], error: null, arguments: { v: '{{item}}' } });
    expect(sent.map(({ params }) => params?.arguments)).toEqual([{ v: 'a' }]);
  });
});
