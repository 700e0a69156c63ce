/** Instructions of servers: complete for one server, joined for all, and their names before everything else. */
import { describe, expect, test } from 'vitest';
import { DEFAULTS, type FrontKind, type Settings } from '../../src/config/config.ts';
import { createWorld, openFront, type Script } from '../world.ts';

const tools = [{ name: 'get', description: 'Gets it.' }];
const LONG = `First line.\n\n${'Always pass the project. '.repeat(40)}The last word is xylophone.`;

function open(scripts: Record<string, Script>, { kind = 'compact' as FrontKind, settings = DEFAULTS } = {}) {
  const { deps } = createWorld(scripts, { settings });
  const front = openFront(kind, deps, { key: 'k', notify() {} });
  const request = (method: string, params = {}) =>
    front.request({ method, params }, { signal: new AbortController().signal });
  const inspect = async (args: object) => {
    const { content } = (await request('tools/call', { name: 'inspect', arguments: args })) as {
      content: { text: string }[];
    };
    return content.map(({ text }) => text).join('');
  };
  const instructions = async () =>
    ((await request('initialize', { protocolVersion: '2025-11-25' })) as { instructions?: string }).instructions;
  const description = async () =>
    ((await request('tools/list')) as { tools: { description: string }[] }).tools[0]?.description ?? '';
  return { inspect, instructions, description };
}

const limited = (resultChars: number): Settings => ({ ...DEFAULTS, limits: { ...DEFAULTS.limits, resultChars } });

describe('inspect of a server', () => {
  test('shows its instructions whole, and then its tools', async () => {
    const answer = await open({ s: { tools, instructions: LONG } }).inspect({ server_name: 's' });
    expect(answer).toBe(`s (1 tool)\n${LONG}\n\nget() // Gets it.\n`);
  });

  test('short ones stay behind its name', async () => {
    const answer = await open({ s: { tools, instructions: 'Be\nbrief.' } }).inspect({ server_name: 's' });
    expect(answer).toBe('s (1 tool) — Be brief.\nget() // Gets it.\n');
  });

  test('endless ones are cut, and the tools are still there', async () => {
    const endless = { s: { tools, instructions: 'word '.repeat(100_000) } };
    const answer = await open(endless).inspect({ server_name: 's' });
    expect(answer.length).toBeLessThan(10_100);
    expect(answer).toContain('…\n\nget() // Gets it.');
    const narrow = await open(endless, { settings: limited(2000) }).inspect({ server_name: 's' });
    expect(narrow.length).toBeLessThan(1100);
    expect(narrow).toContain('get()');
  });

  test('the list of all servers has the beginning of each', async () => {
    const answer = await open({ s: { tools, instructions: LONG } }).inspect({});
    expect(answer.length).toBeLessThan(330);
    expect(answer).toMatch(/^s \(1 tool\) — First line\. Always/);
  });
});

describe('the aggregate front', () => {
  const kind = 'aggregate';

  test('joins what several servers say, each under its name', async () => {
    const scripts = {
      b: { tools, instructions: 'Be brief.' },
      a: { tools, instructions: 'Two\nlines.' },
      c: { tools },
    };
    expect(await open(scripts, { kind }).instructions()).toBe('a: Two\nlines.\n\nb: Be brief.');
  });

  test('a long one leaves room for the others, and all stay within what clients pass on', async () => {
    const scripts = {
      a: { tools, instructions: 'word '.repeat(5000) },
      b: { tools, instructions: 'Be brief.' },
      c: { tools, instructions: 'more '.repeat(5000) },
    };
    const joined = (await open(scripts, { kind }).instructions()) ?? '';
    expect(joined.length).toBeLessThanOrEqual(2000);
    expect(joined.length).toBeGreaterThan(1950);
    expect(joined).toContain('b: Be brief.\n\nc: more');
  });

  test('hundreds of servers stay within it, too', async () => {
    const many = Array.from({ length: 300 }, (_, i) => [`s${i}`, { tools, instructions: LONG }]);
    const joined = (await open(Object.fromEntries(many), { kind }).instructions()) ?? '';
    expect(joined.length).toBeLessThanOrEqual(2000);
    expect(joined).toMatch(/^s0: First line\./);
  });
});

describe('the names of the servers', () => {
  test('are the first words of the description of inspect and of the instructions', async () => {
    const front = open({ github: { tools }, files: { tools } });
    expect(await front.description()).toMatch(
      /^files, github: look up unknown tools. Run known ones with exec at once/,
    );
    expect(await front.instructions()).toMatch(/^files, github: MCP servers behind inspect and exec\. /);
  });

  test('of hundreds of servers are a few and a number, within what Qwen Code shows', async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`server-${i}`, { tools }]));
    const front = open(many);
    for (const text of [await front.description(), await front.instructions()]) {
      expect(text?.slice(0, 200)).toMatch(/^server-0, server-1, .* and 2\d\d more: /);
    }
  });

  test('are left out where there is no server', async () => {
    expect(await open({}).description()).toMatch(/^Look up unknown MCP tools\. /);
    expect(await open({}).instructions()).toMatch(/^MCP servers behind inspect and exec\. /);
  });
});
