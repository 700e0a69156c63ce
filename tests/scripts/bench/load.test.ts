/** `npm run bench:load` evaluates its samples, and its floor and its server answer; the measuring itself is not for every test run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { missed, summarize, table } from '../../../scripts/bench/load.mjs';

const sample = (us: number, perSecond: number) => ({ us, perSecond, cpu: us / 10 });

describe('the summary of npm run bench:load', () => {
  const rows = summarize({
    direct: [sample(20, 9000), sample(30, 8000), sample(400, 100)],
    floor: [sample(120, 4000), sample(130, 2000), sample(420, 50)],
    aggregate: [sample(150, 3000), sample(155, 1800), sample(440, 10)],
  });
  const row = (target: string) => rows.find((one) => one.target === target);

  it('takes the difference to a direct call within each turn, before the median', () => {
    // 100, 100, 20 and 130, 125, 40: a turn in which everything was slow moves neither.
    expect(row('floor')?.added).toBe(100);
    expect(row('aggregate')?.added).toBe(125);
    expect(row('aggregate')?.addedRatio).toBe(1.25);
  });

  it('compares calls per second with those of the floor in the same turn', () => {
    // 0.75, 0.9 and 0.2.
    expect(row('aggregate')?.perSecondRatio).toBe(0.75);
    expect(row('floor')?.perSecondRatio).toBe(1);
    expect(row('aggregate')?.perSecond).toBe(1800);
    expect(row('aggregate')?.cpu).toBe(15.5);
  });

  it('prints one line for each target, without ratios for the direct one', () => {
    const lines = table('http', rows).split('\n');
    expect(lines.map((line) => line.split(/\s{2,}/))).toEqual([
      ['http to stdio', 'alone µs', 'added µs', 'of floor', 'calls/s', 'of floor', 'cpu µs'],
      ['direct', '30', '-', '-', '8000', '-', '3.0'],
      ['floor', '130', '100', '1.00 x', '2000', '1.00 x', '13.0'],
      ['aggregate', '155', '125', '1.25 x', '1800', '0.75 x', '15.5'],
    ]);
  });
});

describe('a bar of npm run bench:load', () => {
  const bars = { added: 1.3, perSecond: 0.8, growth: 6 };
  const check = (addedRatio: number, perSecondRatio: number, growth: number) =>
    missed(
      {
        ways: { stdio: [{ target: 'aggregate', addedRatio, perSecondRatio }] },
        large: [
          { way: 'stdio', target: 'floor', growth: 99 },
          { way: 'stdio', target: 'aggregate', growth },
        ],
      },
      bars,
    );

  it('is met by what is just as good', () => {
    expect(check(1.3, 0.8, 6)).toEqual([]);
  });

  it('is missed in words that say which', () => {
    expect(check(1.31, 0.8, 6)).toEqual(['stdio: adds 1.31 times what the floor adds, more than 1.3']);
    expect(check(1, 0.79, 6)).toEqual(['stdio: 0.79 times the calls per second of the floor, less than 0.8']);
    expect(check(1, 1, 6.1)).toEqual(['stdio, aggregate: grows by 6.1 times a large result, more than 6']);
  });

  it('is missed by what could not be measured', () => {
    expect(check(Number.NaN, Number.NaN, 1)).toHaveLength(2);
  });
});

it('the floor hands a call on with an id of its own and the name of the tool, and the answer back', async () => {
  const floor = spawn(process.execPath, [
    'scripts/bench/load-floor.mjs',
    '--',
    process.execPath,
    'scripts/bench/load-upstream.mjs',
  ]);
  try {
    const call = (id: number, size: number) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"load__lines","arguments":{"size":${size}}}}\n`;
    floor.stdin.write(call(7, 3) + call(70, 40_000));
    let text = '';
    while (text.split('\n').length < 3) text += String((await once(floor.stdout, 'data'))[0]);
    const [first, second] = text.split('\n').map((line) => (line === '' ? undefined : JSON.parse(line)));
    expect(first).toEqual({ jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: 'xxx' }] } });
    expect(second.id).toBe(70);
    expect(JSON.stringify(second.result.content[0].text)).toHaveLength(40_002);
  } finally {
    floor.kill('SIGKILL');
    await once(floor, 'close');
  }
});
