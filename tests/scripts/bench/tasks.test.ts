/** The policy of `npm run bench:tasks`, and its sums; the tasks themselves are not done in every test run. */
import { describe, expect, it } from 'vitest';
import { directTurns, hitsIn, shows, showsResult, solve } from '../../../scripts/bench/task-policy.mjs';
import { isDone, summaryOf, tableOf, worldOf } from '../../../scripts/bench/tasks.mjs';

const MENU =
  'mail: send(to, body), list — Mails\nshop\n  get_order({ id: string }): { total: number } // Read an order.';
const CALLS = [
  { query: 'read an order', tool: 'shop.get_order', arguments: { id: '7' }, answer: { total: 3 } },
  {
    query: 'send a mail',
    tool: 'mail.send',
    arguments: { to: 'a', body: '3' },
    answer: 'ok',
    from: { body: '0.total' },
  },
];

describe('npm run bench:tasks', () => {
  it('takes a tool for known when a text shows it with all names of the arguments', () => {
    expect(shows([MENU], 'mail.send', { to: 'a', body: 'b' })).toBe(true);
    expect(shows([MENU], 'mail.send', { to: 'a', subject: 'b' })).toBe(false);
    expect(shows([MENU], 'mail.list', {})).toBe(false);
    expect(shows([MENU], 'shop.send', { to: 'a' })).toBe(false);
    expect(shows(['shop.get_order({ items: { id: string }[] })'], 'shop.get_order', { items: [{ id: 1 }] })).toBe(true);
    expect(shows(['shop.get_order(items)'], 'shop.get_order', { items: [{ id: 1 }] })).toBe(false);
  });

  it('refers to a part of a result only when its type was shown', () => {
    expect(showsResult([MENU], 'shop.get_order', '0.total')).toBe(true);
    expect(showsResult([MENU], 'shop.get_order', '0.id')).toBe(false);
    expect(showsResult([MENU], 'mail.send', '0.id')).toBe(false);
  });

  it('reads the hits of a search from the beginnings of lines', () => {
    expect(hitsIn('mail.send(to) // Send it, as shop.mail does.\nshop.get_order\nnot searched: x')).toEqual([
      'mail.send',
      'shop.get_order',
    ]);
  });

  it('counts calls that need nothing of each other as one turn of a direct client', () => {
    const calls = [...CALLS, { query: 'list', tool: 'mail.list', arguments: {}, answer: '' }];
    expect(directTurns({ id: 't', say: '', calls }, 'fluent')).toBe(2);
    expect(directTurns({ id: 't', say: '', calls }, 'plain')).toBe(3);
  });

  it('chains calls whose results are known, and tries the next hit after a wrong one', async () => {
    const written: [string, unknown][] = [];
    const call = async (name: string, input: unknown) => {
      written.push([name, input]);
      return { text: name === 'inspect' ? 'mail.list()\nmail.send(to, body)' : 'nothing found', cost: 1 };
    };
    expect(await solve({ id: 't', say: '', calls: CALLS }, { menu: MENU, call }, 'fluent')).toEqual({
      turns: 1,
      solved: true,
    });
    const [order, mail] = [
      { server_name: 'shop', tool_name: 'get_order', arguments: { id: '7' } },
      { server_name: 'mail', tool_name: 'send', arguments: { to: 'a', body: { $from: '0.total' } } },
    ];
    expect(written).toEqual([['exec', { calls: [order, mail] }]]);
    written.length = 0;
    const one = { id: 't', say: '', calls: CALLS.slice(1).map(({ from: _, ...rest }) => rest) };
    expect(await solve(one, { menu: '', call }, 'plain')).toEqual({ turns: 3, solved: true });
    expect(written.map(([name, input]) => [name, (input as { tool_name?: string }).tool_name])).toEqual([
      ['inspect', undefined],
      ['exec', 'list'],
      ['exec', 'send'],
    ]);
  });

  it('keeps the tools that a task needs in a small catalog', () => {
    const tool = (name: string) => ({ name, inputSchema: {} });
    const servers = [
      { name: 'a', tools: [tool('x')] },
      { name: 'mail', tools: [tool('list'), tool('send')] },
      { name: 'shop', tools: [tool('get_order')] },
    ];
    expect(
      worldOf({ id: 't', say: '', calls: CALLS }, servers, 2).map(({ name, tools }) => [name, tools.length]),
    ).toEqual([
      ['mail', 1],
      ['shop', 1],
    ]);
  });

  it('calls a task done when every call arrived after those that it needs', () => {
    const [order, mail] = CALLS.map(({ tool, arguments: args }) => ({ tool, args })) as [any, any];
    expect(isDone({ id: 't', say: '', calls: CALLS }, [order, mail])).toBe(true);
    expect(isDone({ id: 't', say: '', calls: CALLS }, [mail, order])).toBe(false);
    expect(isDone({ id: 't', say: '', calls: CALLS }, [order])).toBe(false);
  });

  it('adds tasks up', () => {
    const rows = [
      { id: 'a', calls: 1, mcpx: { turns: 2, tokens: 100, solved: true }, direct: { turns: 1, tokens: 90 } },
      { id: 'b', calls: 2, mcpx: { turns: 2, tokens: 100, solved: false }, direct: { turns: 2, tokens: 210 } },
    ];
    expect(summaryOf(rows)).toMatchObject({ done: 1, severalRatio: 1, fewer: 1, tokens: 200, directTokens: 300 });
    expect(tableOf([{ size: 15, style: 'fluent', rows }])).toMatch(
      /15 +fluent +1\/2 +4 +3 +1\.33 +1\.00 +200 +300 +1\/2/,
    );
  });
});
