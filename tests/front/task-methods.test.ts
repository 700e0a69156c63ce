/** Tasks, and what else a front passes on without knowing what it means. */
import { describe, expect, test, vi } from 'vitest';
import { exposeUri } from '../../src/catalog/exposed-uris.ts';
import { DEFAULTS } from '../../src/config/config.ts';
import { createWorld, openFront, type Script } from '../world.ts';

const TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

function worker(name: string, capabilities: object = { tasks: TASKS }): Script {
  return {
    tools: [{ name: `work_${name}` }],
    capabilities: { tools: {}, ...capabilities },
    answer: (method, params) => {
      if (method === 'tools/call') return { task: { taskId: `task of ${name}`, status: 'working' } };
      if (method === 'tasks/list') return { tasks: [{ taskId: `task of ${name}` }, { taskId: 'of somebody else' }, 5] };
      return { from: name, method, id: params?.taskId };
    },
  };
}

function open(
  scripts: Record<string, Script>,
  kind: 'aggregate' | 'compact' = 'aggregate',
  resources: 'keep' | 'wrap' = 'keep',
) {
  const naming = { ...DEFAULTS.naming, style: 'plain' as const, resources };
  const world = createWorld(scripts, { settings: { ...DEFAULTS, naming } });
  const told: unknown[] = [];
  const notify = (method: string, params: unknown) => void told.push([method, params]);
  const front = openFront(kind, world.deps, { key: 'k', notify });
  const signal = new AbortController().signal;
  const ask = (method: string, params: object = {}, more: object = {}) =>
    front.request({ method, params: { ...params } }, { signal, ...more });
  return { ...world, front, told, ask };
}

test('a call carries everything that its client sent; a modern client has no wish for a task', async () => {
  const { ask, sent } = open({ one: worker('one') });
  await ask('tools/call', {
    name: 'work_one',
    arguments: {},
    task: { ttl: 5 },
    other: 1,
    _meta: { 'com.example/x': 2 },
  });
  await ask('tools/call', { name: 'work_one', task: { ttl: 5 } }, { inputs: {} });
  expect(sent.map(({ params }) => params)).toEqual([
    { name: 'work_one', arguments: {}, task: { ttl: 5 }, other: 1, _meta: { 'com.example/x': 2 } },
    { name: 'work_one', arguments: undefined },
  ]);
});

test('of two that have the same id neither is taken for the other', async () => {
  const alike = (name: string): Script => ({
    ...worker(name),
    answer: (method) => (method === 'tools/call' ? { task: { taskId: 't' } } : { from: name }),
  });
  const { ask, sent, front, told } = open({ one: alike('one'), two: alike('two') });
  await ask('tools/call', { name: 'work_one' });
  expect(await ask('tasks/get', { taskId: 't' })).toEqual({ from: 'one' });
  await ask('tools/call', { name: 'work_two' });
  sent.length = 0;
  await expect(ask('tasks/cancel', { taskId: 't' })).rejects.toMatchObject({
    code: -32602,
    message: 'task t is ambiguous: "one" and "two" have a task with this id',
  });
  expect(sent).toEqual([]);
  for (const server of ['one', 'two', 'three'])
    front.onNotification(server, 'notifications/tasks/status', { taskId: 't' });
  expect(told).toHaveLength(2);
});

describe('a task', () => {
  test.each(['tasks/get', 'tasks/result', 'tasks/update', 'tasks/cancel'])('is asked for with %s', async (method) => {
    const { ask } = open({ one: worker('one'), two: worker('two') });
    await ask('tools/call', { name: 'work_two' });
    expect(await ask(method, { taskId: 'task of two' })).toEqual({ from: 'two', method, id: 'task of two' });
    await expect(ask(method, { taskId: 'task of one' })).rejects.toMatchObject({ code: -32602 });
  });

  test('is asked for where it was begun, whatever its client has by then', async () => {
    const { ask, router } = open({ one: worker('one') });
    await ask('tools/call', { name: 'work_one' });
    const via = router.tasks.via('task of one', 'one');
    expect(via?.name).toBe('one');
    const forward = vi.spyOn(router, 'forward');
    await ask('tasks/get', { taskId: 'task of one' });
    expect(forward).toHaveBeenCalledWith(expect.objectContaining({ via }));
  });

  test('comes to a result whose links can be read under the URIs that they have there', async () => {
    const done = (uri: string) => ({ content: [{ type: 'resource_link', uri, name: 'report' }] });
    const answer: Script['answer'] = (method) =>
      method === 'tasks/get' ? { status: 'completed', result: done('note://one') } : done('note://one');
    const { ask } = open({ one: { ...worker('one'), answer } }, 'aggregate', 'wrap');
    const exposed = done(exposeUri({ server: 'one', uri: 'note://one' }, 'wrap'));
    expect(await ask('tasks/result', { taskId: 't' })).toEqual(exposed);
    expect(await ask('tasks/get', { taskId: 't' })).toEqual({ status: 'completed', result: exposed });
  });

  test('is looked at whatever its size: only the result of a call may pass in bytes', async () => {
    const passed: unknown[] = [];
    const answer: Script['answer'] = (method, params, options) => {
      passed.push([method, options.verbatim === 'large']);
      return worker('one').answer?.(method, params, options);
    };
    const { ask } = open({ one: { ...worker('one'), answer } });
    await ask('tools/call', { name: 'work_one' }, { verbatim: true });
    await ask('tasks/list', {}, { verbatim: true });
    await ask('tasks/get', { taskId: 'task of one' }, { verbatim: true });
    expect(passed).toEqual([
      ['tools/call', true],
      ['tasks/list', false],
      ['tasks/get', false],
    ]);
  });

  test('is waited for longer than anything else, where its result is asked for', async () => {
    const timeouts: unknown[] = [];
    const answer: Script['answer'] = (method, _, { timeout }) => timeouts.push([method, timeout]);
    const { ask } = open({ one: { ...worker('one'), answer, spec: { timeout: 60_000 } } });
    await ask('tasks/get', { taskId: 't' });
    await ask('tasks/result', { taskId: 't' });
    expect(timeouts).toEqual([
      ['tasks/get', 60_000],
      ['tasks/result', 600_000],
    ]);
  });

  test('from an earlier run is where it can only be', async () => {
    const { ask } = open({ one: worker('one', EXTENSION), plain: worker('plain', {}) });
    expect(await ask('tasks/get', { taskId: 'old' })).toMatchObject({ from: 'one', id: 'old' });
  });

  test('is listed for who began it', async () => {
    const { ask } = open({ one: worker('one') });
    expect(await ask('tasks/list')).toEqual({ tasks: [] });
    await ask('tools/call', { name: 'work_one' });
    expect(await ask('tasks/list')).toEqual({ tasks: [{ taskId: 'task of one' }] });
  });

  test('tells how it goes, to who began it', async () => {
    const { ask, front, told } = open({ one: worker('one') });
    await ask('tools/call', { name: 'work_one' });
    const method = 'notifications/tasks/status';
    front.onNotification('one', method, { taskId: 'task of one', status: 'completed' });
    front.onNotification('one', method, { taskId: 'of somebody else', status: 'completed' });
    expect(told).toMatchObject([[method, { taskId: 'task of one', status: 'completed' }]]);
  });

  test.each<[title: string, scripts: Record<string, Script>, kind: 'aggregate' | 'compact', method: string]>([
    ['where no server has any', { one: worker('one', {}) }, 'aggregate', 'tasks/get'],
    ['in the compact front', { one: worker('one') }, 'compact', 'tasks/get'],
    ['in a list of several servers', { one: worker('one'), two: worker('two') }, 'aggregate', 'tasks/list'],
  ])('is unknown %s', async (_, scripts, kind, method) => {
    await expect(open(scripts, kind).ask(method, { taskId: 'x' })).rejects.toMatchObject({ code: -32601 });
  });
});

describe('what servers can do beyond the usual', () => {
  const handshake = async (scripts: Record<string, Script>) => {
    const { capabilities } = (await open(scripts).ask('initialize', { capabilities: {} })) as { capabilities: any };
    return [capabilities.tasks, capabilities.extensions, capabilities.experimental];
  };

  test('is said as the only server says it', async () => {
    const more = { tasks: TASKS, extensions: { 'com.example/x': { a: 1 } }, experimental: { y: {} } };
    expect(await handshake({ one: worker('one', more) })).toEqual([TASKS, { 'com.example/x': { a: 1 } }, { y: {} }]);
  });

  test('is put together of several, as far as that can be', async () => {
    const { list: _, ...listless } = TASKS;
    const first = { tasks: TASKS, extensions: { 'com.example/x': { first: 1 } }, experimental: { y: {} } };
    const second = { tasks: TASKS, extensions: { 'com.example/x': {}, 'com.example/z': {} } };
    expect(await handshake({ one: worker('one', first), two: worker('two', second) })).toEqual([
      listless,
      { 'com.example/z': {} },
      undefined,
    ]);
    expect(await handshake({ one: worker('one', {}) })).toEqual([undefined, undefined, undefined]);
  });
});
