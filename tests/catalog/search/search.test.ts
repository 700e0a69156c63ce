/** The search: its results, its access rules and its cost. `npm run bench:search` measures the quality on real catalogs. */
import { describe, expect, test, vi } from 'vitest';
import type { Tool } from '../../../src/catalog/listing.ts';
import { createToolSearch, type Scope } from '../../../src/catalog/search/search.ts';
import { processorTime } from '../../setup/processor.ts';
import { PATIENCE } from '../../setup/until.ts';

type Shelf = Record<string, Partial<Tool>[]>;

const scopeOf = (servers: Shelf, revision = '1'): Scope => ({
  servers: Object.entries(servers).map(([name, tools]) => ({ name, tools: tools as Tool[] })),
  revision,
});

async function find(question: string, servers: Shelf, only?: string): Promise<string[]> {
  const hits = await createToolSearch().find(question, { ...scopeOf(servers), only });
  return hits.map(({ server, tool }) => `${server}.${tool.name}`);
}

const OFFICE: Shelf = {
  chat: [
    { name: 'post_message', description: 'Post a message to a channel.' },
    { name: 'list_channels', description: 'List channels.' },
    { name: 'add_reaction', description: 'Add an emoji reaction to a message.' },
  ],
  code: [
    { name: 'create_pull_request', description: 'Create a pull request.' },
    { name: 'merge_pull_request', description: 'Merge a pull request.' },
    { name: 'list_commits', description: 'List commits of a branch.' },
    { name: 'searchCode', description: 'Search code.' },
  ],
  disk: [
    { name: 'read_file', description: 'Read a file.' },
    { name: 'create_directory', description: 'Create a directory.' },
    { name: 'delete_file', description: 'Delete a file.' },
    { name: 'list_directory', description: 'List what a directory contains.' },
  ],
  calendar: [
    { name: 'create-event', description: 'Create an event.' },
    { name: 'list-events', description: 'List events.' },
  ],
};

describe('the first hit', () => {
  const FIRST: [question: string, expected: string][] = [
    ['make a new folder', 'disk.create_directory'],
    ['what is in this folder', 'disk.list_directory'],
    ['get rid of a document', 'disk.delete_file'],
    ['show me a document', 'disk.read_file'],
    ['thumbs up', 'chat.add_reaction'],
    ['merge request', 'code.merge_pull_request'],
    ['who changed the program', 'code.list_commits'],
    ['search code', 'code.searchCode'],
    ['book an appointment', 'calendar.create-event'],
    ['新建文件夹', 'disk.create_directory'],
    ['删除文件', 'disk.delete_file'],
    ['发消息到频道', 'chat.post_message'],
    ['安排一个会议', 'calendar.create-event'],
    ['ｃｒｅａｔｅ　ｄｉｒｅｃｔｏｒｙ', 'disk.create_directory'],
    ['directroy', 'disk.list_directory'],
  ];
  test.each(FIRST)('%s → %s', async (question, expected) => {
    expect((await find(question, OFFICE))[0]).toBe(expected);
  });

  /** Tools of other services that have the words of the questions in their texts. */
  const BESIDE: Shelf = {
    phone: [{ name: 'send_sms', description: 'Send an SMS to a phone number.' }],
    mail: [{ name: 'send_mail', description: 'Send an e-mail message to a contact.' }],
    clock: [
      { name: 'convert', description: 'Convert a time between time zones.' },
      { name: 'now', description: 'The current time in a time zone.' },
    ],
    agenda: [
      { name: 'list_time_zones', description: 'List the time zones, for times of events.' },
      { name: 'snooze_reminder', description: 'Postpone a reminder until a new time.' },
      { name: 'find_free_slots', description: 'Find free slots of people.' },
      { name: 'invite', description: 'Invite a person to an event.' },
    ],
    browser: [
      { name: 'start_trace', description: 'Start a performance trace on the target webpage.' },
      { name: 'close_page', description: 'Close the page by its index.' },
      { name: 'new_page', description: 'Open a new tab and load a URL.' },
      { name: 'list_pages', description: 'List open pages.' },
    ],
  };
  const TOLD_APART: [question: string, expected: string][] = [
    ['what time is it', 'clock.now'],
    ['what time is it in Tokyo', 'clock.now'],
    ['东京现在几点了', 'clock.now'],
    ['send an SMS text message to a phone number', 'phone.send_sms'],
    ['text Ada that I am late', 'phone.send_sms'],
    ['给手机号发短信', 'phone.send_sms'],
    ['发邮件给张三', 'mail.send_mail'],
    ['open a web page', 'browser.new_page'],
    ['找一个空闲时间并邀请张三', 'agenda.find_free_slots'],
  ];
  test.each(TOLD_APART)('beside other services: %s → %s', async (question, expected) => {
    expect((await find(question, BESIDE))[0]).toBe(expected);
  });

  test('an English tool is found in Chinese beside tools that have the Chinese verb of the question', async () => {
    const mixed: Shelf = {
      ...BESIDE,
      通讯录: [{ name: 'search_user', description: '按姓名查找同事，查找结果包含部门。' }],
      地图: [{ name: 'search_place', description: '按关键词查找地点。' }],
      weather: [{ name: 'forecast', description: 'The weather of the next days: temperature and rain.' }],
      inbox: [{ name: 'search_messages', description: 'Search mails by sender, subject or attachment.' }],
    };
    expect((await find('查找张三的邮件', mixed)).slice(0, 2)).toContain('inbox.search_messages');
    expect((await find('明天会不会下雨', mixed))[0]).toBe('weather.forecast');
    expect((await find('查找附近的同事', mixed))[0]).toBe('通讯录.search_user');
  });

  test('each act of a question has its tool among the first, also if its object is "it"', async () => {
    expect((await find('find a free slot and text it to Ada', BESIDE)).slice(0, 3)).toEqual(
      expect.arrayContaining(['agenda.find_free_slots', 'phone.send_sms']),
    );
    expect((await find('open a web page and email it', BESIDE)).slice(0, 3)).toEqual(
      expect.arrayContaining(['browser.new_page', 'mail.send_mail']),
    );
  });

  test('Chinese and Japanese tools are found in their own language, Chinese ones in English as well', async () => {
    const servers: Shelf = {
      文档: [
        { name: 'a', description: '创建一个新的日程' },
        { name: 'b', description: '删除文件' },
      ],
      日本: [
        { name: 'c', description: '予定を作成する' },
        { name: 'd', description: 'ファイルを検索する' },
      ],
    };
    expect((await find('日程', servers))[0]).toBe('文档.a');
    expect((await find('delete a file', servers))[0]).toBe('文档.b');
    expect((await find('ファイル', servers))[0]).toBe('日本.d');
    expect((await find('予定を追加', servers))[0]).toBe('日本.c');
  });

  const FIELDS: [field: string, tool: Partial<Tool>][] = [
    ['title', { title: 'Zebra' }],
    ['annotation', { annotations: { title: 'Zebra' } }],
    ['description', { description: 'Something. And then about the zebra.' }],
    ['name of a parameter', { inputSchema: { properties: { zebraCount: {} } } }],
    ['description of a parameter', { inputSchema: { properties: { x: { description: 'How many zebras' } } } }],
    ['value of a parameter', { inputSchema: { properties: { x: { items: { anyOf: [{ enum: ['zebra', 5] }] } } } } }],
  ];
  test.each(FIELDS)('a word in the %s is found', async (_, tool) => {
    expect(await find('zebras', { s: [{ name: 'one' }, { name: 'two', ...tool }] })).toEqual(['s.two']);
  });

  test('the name and the purpose of a server count', async () => {
    const tools = [{ name: 'send', description: 'Send a message.' }];
    expect((await find('send a message in slack', { telegram: tools, slack: tools }))[0]).toBe('slack.send');
    expect(
      (await find('customer in the crm', { hubspot: [{ name: 'search-objects' }], other: [{ name: 'find' }] }))[0],
    ).toBe('hubspot.search-objects');
  });
});

describe('a question that is exactly what a tool is called', () => {
  const CLUSTER: Shelf = {
    kubectl: [
      { name: 'kubectl_get', description: 'Show objects.' },
      { name: 'kubectl_describe', description: 'Get a description of objects: kubectl describe, kubectl get -o wide.' },
      { name: 'get', description: 'Show one entry.' },
    ],
    gitlab: [
      { name: 'get_merge_request_diffs', description: 'Get merge request diffs: get the merge request, get it all.' },
      { name: 'getMergeRequest', description: 'Details.' },
      { name: 'mr_notes', title: 'Merge Request Notes', description: 'Remarks.' },
      { name: 'approve', annotations: { title: 'Sign it off' }, description: 'Approve.' },
      { name: 'notes_of_merge_request', description: 'Merge request notes: notes of the merge request.' },
    ],
  };
  const EXACT: [question: string, expected: string][] = [
    ['get', 'kubectl.get'],
    [' Get ', 'kubectl.get'],
    ['kubectl get', 'kubectl.kubectl_get'],
    ['KUBECTL-GET', 'kubectl.kubectl_get'],
    ['get merge request', 'gitlab.getMergeRequest'],
    ['get_merge_request', 'gitlab.getMergeRequest'],
    ['gitlab.approve', 'gitlab.approve'],
    ['merge request notes', 'gitlab.mr_notes'],
    ['sign it off', 'gitlab.approve'],
  ];
  test.each(EXACT)('%s → %s', async (question, expected) => {
    expect((await find(question, CLUSTER))[0]).toBe(expected);
  });

  test('is answered with what else fits too, and only with tools of the server that is named', async () => {
    expect(await find('get merge request', CLUSTER)).toContain('gitlab.get_merge_request_diffs');
    expect(await find('get', CLUSTER, 'gitlab')).not.toContain('kubectl.get');
  });

  test('finds a tool by its annotated title where it has another title as well', async () => {
    const tools = [{ name: 'x', title: 'Horse', annotations: { title: 'Zebra' } }, { name: 'y' }];
    expect(await find('zebras', { s: tools })).toEqual(['s.x']);
  });

  test('has letters: names of nothing but signs are no match for signs', async () => {
    expect(await find('--', { s: [{ name: '_', title: '?' }] })).toEqual([]);
  });
});

describe('a search', () => {
  test('is within one server where one is named', async () => {
    expect((await find('message', OFFICE, 'disk')).filter((name) => !name.startsWith('disk.'))).toEqual([]);
  });

  test('finds at most ten tools, and none that has nothing to do with it', async () => {
    const many = Array.from({ length: 50 }, (_, index) => ({ name: `send_${index}`, description: 'Send a message.' }));
    expect(await find('send a message', { s: many })).toHaveLength(10);
    expect(await find('qwertz', OFFICE)).toEqual([]);
  });

  const FILMS: Shelf = {
    films: ['cast', 'reviews', 'images', 'keywords', 'similar', 'prices'].map((part) => ({
      name: `film_${part}`,
      description: `Get the ${part} of a film.`,
    })),
  };
  test.each([
    ['who is the director of the film "The Silent Valley of the Northern Kings"', true],
    ['give me a film by Amara Okonkwo Lindqvist and Teodor Vance', true],
    ['is there a film from 1987-04-12 with code X93-22-B', true],
    ['water the plants of my neighbours in summer', false],
    ['rewind the tape and film over the wedding of my neighbours in summer', false],
  ])('tells whether a tool fits, by its words and not by names and numbers: %s', async (question, fits) => {
    const [first] = await createToolSearch().find(question, scopeOf({ ...FILMS, ...OFFICE }));
    expect(first?.fits ?? false).toBe(fits);
  });

  const GAMES = ['chess', 'sudoku', 'weather', 'recipes'].map((name) => ({
    name,
    description: `Answer questions on ${name}.`,
  }));
  test.each([
    [
      'Hi! I am in the mood for some brain-teasing sudoku this rainy evening, please challenge me with a hard puzzle',
      true,
    ],
    ['Can you analyze the position of my pieces and recommend a good move in my chess match?', true],
    ['open the garage door and read the meter', false],
    ['write a haiku about autumn', false],
  ])('tells it by the rare words of a chatty question, and not by a few common ones: %s', async (question, fits) => {
    const [first] = await createToolSearch().find(question, scopeOf({ ...OFFICE, games: GAMES }));
    expect(first?.fits ?? false).toBe(fits);
  });

  const DROP: Partial<Tool> = {
    name: 'drop',
    description: 'Drop data on an element.',
    inputSchema: {
      type: 'object',
      properties: {
        data: {
          type: 'object',
          description:
            'The data by its media type. An object such as {"text/plain": "hello"}, with up to ten media types.',
        },
        selector: { type: 'string', description: 'The element of the page, by its name or by a path in the document.' },
      },
    },
  };
  test.each([
    ['hello', false],
    ['element', true],
    ['selector', true],
    ['drop', true],
  ])('tells it of one word by the place that has it: %s', async (question, fits) => {
    const [first] = await createToolSearch().find(question, scopeOf({ ...OFFICE, pages: [DROP] }));
    expect([first?.tool.name, first?.fits]).toEqual(['drop', fits]);
  });

  test('sees what changed, and only what its caller may see', async () => {
    const search = createToolSearch();
    const names = async (scope: Scope) => (await search.find('zebra', scope)).map(({ tool }) => tool.description);
    expect(await names(scopeOf({ s: [{ name: 'zebra', description: 'old' }] }, '1'))).toEqual(['old']);
    expect(await names(scopeOf({ s: [{ name: 'zebra', description: 'new' }] }, '2'))).toEqual(['new']);
    expect(await names(scopeOf({ s: [] }, '2'))).toEqual([]);
    expect(await names(scopeOf({ s: [{ name: 'zebra', description: 'new' }] }, '2'))).toEqual(['new']);
  });

  test('answers each caller with the definition that they see', async () => {
    const search = createToolSearch();
    const scopes = ['old', 'new'].map((description) => scopeOf({ s: [{ name: 'zebra', description }] }));
    const found = await Promise.all(scopes.map((scope) => search.find('zebra', scope)));
    expect(found.map(([hit]) => hit?.tool.description)).toEqual(['old', 'new']);
  });

  test('lets others have their turn while it is made ready, and is made ready once', async () => {
    const tools = Array.from({ length: 4000 }, (_, index) => ({
      name: `tool_${index}`,
      description: 'Send a message.',
    }));
    const search = createToolSearch();
    const scope = scopeOf({ s: tools });
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const [first, second] = await Promise.all([search.find('send', scope), search.find('send', scope)]);
    clearInterval(timer);
    expect(second).toEqual(first);
    expect(turns).toBeGreaterThan(2);
  });

  test('prefers among equals what is used, and nothing for its use alone', async () => {
    const servers: Shelf = {
      a: [{ name: 'send_mail', description: 'Send a mail.' }],
      b: [{ name: 'send_mail', description: 'Send a mail.' }],
      c: [{ name: 'play_music', description: 'Play music.' }],
    };
    const used = (favourite: string) => createToolSearch((server) => (server === favourite ? 1 : 0));
    const first = async (favourite: string) => (await used(favourite).find('send a mail', scopeOf(servers)))[0]?.server;
    expect([await first('a'), await first('b'), await first('c')]).toEqual(['a', 'b', 'a']);
  });

  test('survives what servers say', async () => {
    const circle: Record<string, unknown> = { properties: {} };
    (circle.properties as Record<string, unknown>).self = circle;
    let deep: Record<string, unknown> = { description: 'zebra' };
    for (let level = 0; level < 1000; level++) deep = { properties: { x: deep } };
    const odd = [
      { name: '__proto__', description: 'constructor' },
      { name: 'x'.repeat(100_000), description: 'y '.repeat(100_000) },
      { name: 'circle', inputSchema: circle },
      { name: 'deep', inputSchema: deep },
      { name: 'numbers', description: 5 as unknown as string, title: {}, inputSchema: [] },
      { name: 'values', inputSchema: { properties: { a: { enum: [null, {}, 'zebra'] }, b: null } } },
    ];
    expect(await find('zebra', { __proto__x: odd })).toEqual(['__proto__x.values']);
    expect((await find('__proto__', { s: odd }))[0]).toBe('s.__proto__');
  });

  test('of 1,900 tools is ready in well under two seconds, and each answer in a moment', async () => {
    const nouns = ['invoice', 'calendar', 'message', 'repository', 'picture', 'document', 'customer', 'device'];
    const tools = Array.from({ length: 190 }, (_, index) => ({
      name: `update_${nouns[index % 8]}_${index}`,
      description: `Update the ${nouns[(index * 3) % 8]}. ${'It changes what is there and keeps the rest as it was. '.repeat(8)}`,
      inputSchema: {
        properties: Object.fromEntries(nouns.map((noun) => [noun, { description: `The ${noun} to use` }])),
      },
    }));
    const scope = scopeOf(Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`server${index}`, tools])));
    const search = createToolSearch();
    const work = async () => {
      const before = processorTime();
      expect(await search.find('change a picture', scope)).toHaveLength(10);
      return processorTime() - before;
    };
    expect(await work()).toBeLessThan(8000);
    expect(await work()).toBeLessThan(1000);
  });
});

describe('the search is made ready', () => {
  /** How often descriptions are looked at. */
  const watched = (count: number) => {
    const looks = vi.fn(() => 'Does a thing.');
    const tools = Array.from({ length: count }, (_, index) =>
      Object.defineProperty({ name: `t${index}` }, 'description', { get: looks }),
    );
    return { looks, scope: vi.fn(() => scopeOf({ s: tools })) };
  };
  const prepare = (scope: () => Scope) => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const search = createToolSearch();
      search.prepare(scope);
      search.prepare(scope);
      expect(scope).not.toHaveBeenCalled();
      vi.runAllTimers();
      return search;
    } finally {
      vi.useRealTimers();
    }
  };

  test('before the first question where there are many tools, once', async () => {
    const { looks, scope } = watched(500);
    const search = prepare(scope);
    await vi.waitFor(() => expect(looks.mock.calls.length).toBeGreaterThanOrEqual(500), { timeout: PATIENCE });
    expect(scope).toHaveBeenCalledTimes(1);
    const before = looks.mock.calls.length;
    await search.find('t1', scope());
    expect(looks.mock.calls.length).toBeLessThan(before * 2);
  });

  test('by the first question where there are few', async () => {
    const { looks, scope } = watched(20);
    const search = prepare(scope);
    await new Promise((resolve) => setImmediate(resolve));
    expect(looks).not.toHaveBeenCalled();
    await search.find('t1', scope());
    expect(looks).toHaveBeenCalled();
  });
});
