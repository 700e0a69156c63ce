/** The one place that tells what happens. */
import { expect, test, vi } from 'vitest';
import { createObserver, type Happening } from '../../src/observe/observer.ts';
import { CALLER, createWorld } from '../world.ts';

test('a call is told when it begins and when it ends, to everybody who listens until they leave', () => {
  const observer = createObserver();
  const heard: Happening[] = [];
  const leave = observer.subscribe((happening) => heard.push(happening));
  const calls = observer.calls({ profile: 'p', principal: 'ci' });
  const end = calls.begin({ kind: 'tool', server: 's', name: 't', method: 'tools/call', arguments: { secret: 1 } });
  end('tool_error', { result: 'r', reason: 'why' });
  leave();
  calls.begin({ kind: 'tool', server: 's', name: 't', method: 'tools/call' })('ok');
  expect(heard).toEqual([
    { type: 'call_began', call: expect.objectContaining({ profile: 'p', principal: 'ci', server: 's', name: 't' }) },
    {
      type: 'call_ended',
      call: expect.objectContaining({
        ...{ outcome: 'tool_error', reason: 'why', ms: expect.any(Number) },
        values: { arguments: { secret: 1 }, result: 'r' },
      }),
    },
  ]);
  expect(JSON.stringify(heard[0])).not.toContain('secret');
});

test('what the router does is told: what was asked, how it ended, and why as a code', async () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const { router, observer } = createWorld({
    s: {
      tools: [{ name: 't', inputSchema: schema }],
      answer: (_, params) => {
        const n = Number((params?.arguments as { n?: number } | undefined)?.n);
        if (n < 0) throw new Error('secret words');
        return { content: [], isError: n === 0 };
      },
    },
  });
  const ends: unknown[] = [];
  observer.subscribe((happening) => {
    if (happening.type === 'call_ended') ends.push([happening.call.outcome, happening.call.reason]);
  });
  for (const n of [1, 0, -1, 'x'])
    await router.call({ server: 's', tool: 't', arguments: { n }, caller: CALLER }).catch(() => undefined);
  await router.call({ server: 's', tool: 'none', caller: CALLER }).catch(() => undefined);
  expect(ends).toEqual([
    ['ok', undefined],
    ['tool_error', undefined],
    ['failed', 'failed'],
    ['refused', 'arguments'],
    ['missing', undefined],
  ]);
});

test('who only counts hears of what is over in its order, a moment later, or when the numbers are wanted', () => {
  vi.useFakeTimers();
  try {
    const observer = createObserver();
    const counted: string[] = [];
    observer.tally((happening) => counted.push(happening.type === 'call_ended' ? happening.call.name : happening.type));
    const call = (name: string) =>
      observer.calls({ profile: 'p' }).begin({ kind: 'tool', server: 's', name, method: 'tools/call', arguments: 1 });
    const [first, second] = [call('first'), call('second')];
    expect(observer.inFlight().map(({ name }) => name)).toEqual(['first', 'second']);
    second('ok', { result: 2 });
    observer.emit({ type: 'reload', ok: true, message: '' });
    first('failed');
    expect([counted, observer.inFlight()]).toEqual([[], []]);
    observer.settle();
    expect(counted).toEqual(['second', 'reload', 'first']);
    call('third')('ok');
    vi.advanceTimersByTime(50);
    expect(counted).toHaveLength(4);
    for (let calls = 0; calls < 1000; calls += 1) call('many')('ok');
    expect(counted.length).toBeGreaterThan(700);
    observer.settle();
    expect(counted).toHaveLength(1004);
  } finally {
    vi.useRealTimers();
  }
});

test('what went in and out is held for nobody who only counts', () => {
  const observer = createObserver();
  const values: unknown[] = [];
  observer.tally((happening) => values.push(happening.type === 'call_ended' && happening.call.values));
  const call = () =>
    observer.calls({ profile: 'p' }).begin({ kind: 'tool', server: 's', name: 't', method: 'm', arguments: 'in' })(
      'ok',
      {
        result: 'out',
      },
    );
  call();
  observer.settle();
  expect(values).toEqual([undefined]);
  const heard: unknown[] = [];
  observer.subscribe((happening) => heard.push(happening.type === 'call_ended' && happening.call.values));
  call();
  // Nothing waits while somebody listens.
  expect([heard, values]).toEqual([
    [false, { arguments: 'in', result: 'out' }],
    [undefined, { arguments: 'in', result: 'out' }],
  ]);
});
