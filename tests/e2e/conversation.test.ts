/** A conversation as a model has it, with the executable and real servers: it uses nothing but what the answers before told it. */
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emptyPlace, openSession, type Place, post, serverScript, start } from './program.ts';

const node = process.execPath;

function servers(place: Place) {
  return {
    mcpServers: {
      filesystem: { command: node, args: [serverScript('server-filesystem'), join(place.cwd, 'files')] },
      memory: {
        command: node,
        args: [serverScript('server-memory')],
        env: { MEMORY_FILE_PATH: join(place.cwd, 'memory.json') },
      },
    },
  };
}

/** A text with lines, pairs and combining characters, larger than what is sent whole. */
const LARGE = Array.from({ length: 4000 }, (_, i) => `line ${i} 中文 😀 e\u0301`).join('\n');

interface Answer {
  isError?: boolean;
  content: { type: string; text: string }[];
}

const textOf = ({ content }: Answer) => content.map(({ text }) => text).join('\n');

/** The arguments of the call that an answer shows. */
function shown(answer: Answer, what: RegExp): Record<string, unknown> {
  const json = new RegExp(`${what.source} \\w+ (\\{.*\\})`, 'm').exec(textOf(answer))?.[1];
  return JSON.parse(json ?? 'null') as Record<string, unknown>;
}

test('find, inspect, a wrong call, a corrected one, a large result, its pages', async () => {
  const place = emptyPlace();
  mkdirSync(join(place.cwd, 'files'));
  place.file('files/large.txt', LARGE);
  const session = await openSession(place, servers(place));
  const call = async (name: string, args: unknown): Promise<Answer> =>
    (await session.request('tools/call', { name, arguments: args })).result;

  const found = await call('inspect', { query: 'remember new things in the knowledge graph' });
  expect(textOf(found)).toContain('create_entities(');

  const signature = await call('inspect', { method: 'memory.create_entities' });
  expect(textOf(signature)).toContain('entityType: string');
  expect(shown(signature, /^example:/)).toMatchObject({ tool: 'memory.create_entities' });

  const wrong = await call('exec', { method: 'memory.create_entities', arguments: { entities: [{ name: 'mcpx' }] } });
  expect(wrong.isError).toBe(true);
  expect(textOf(wrong)).toMatch(/entities\[0\]\.entityType: missing/);

  const corrected = await call('exec', shown(wrong, /^example:/));
  expect(corrected.isError).toBeUndefined();
  expect(textOf(corrected)).toContain('entityType');

  const path = join(realpathSync(place.cwd), 'files', 'large.txt');
  const large = await call('exec', { tool_name: 'filesystem__read_text_file', arguments: { path } });
  const [head] = large.content;
  expect(textOf(large).length).toBeLessThan(4000);

  let read = head?.text ?? '';
  for (let next = shown(large, /^read on:/); next !== null; ) {
    const page = await call('inspect', next);
    read += page.content[0]?.text;
    next = shown(page, /; read on:/);
  }
  expect(read).toBe(LARGE);

  const place3999 = await call('inspect', { ...shown(large, /^find a text:/), query: 'LINE 3999 ' });
  expect(textOf(place3999)).toContain('line 3999 中文');
  const uri = `mcpx://result/${shown(large, /^read on:/).result}`;
  expect((await session.request('resources/list')).result.resources).toContainEqual(expect.objectContaining({ uri }));
});

test('a batch fills in what an earlier call found, and select keeps answers small', async () => {
  const place = emptyPlace();
  mkdirSync(join(place.cwd, 'files'));
  const session = await openSession(place, servers(place));
  const call = async (args: unknown): Promise<Answer> =>
    (await session.request('tools/call', { name: 'exec', arguments: args })).result;

  const entities = Array.from({ length: 500 }, (_, i) => ({
    name: `entity-${i}`,
    entityType: i % 2 === 0 ? 'even' : 'odd',
    observations: [`number ${i} is kept with a sentence that takes up room`],
  }));
  await call({ method: 'memory.create_entities', arguments: { entities }, select: 'length(entities)' });
  const names = await call({ method: 'memory.read_graph', select: "entities[?entityType == 'odd'].name | [0:3]" });
  expect(textOf(names)).toBe('result: ["entity-1","entity-3","entity-5"]\n');

  const both = await call({
    calls: [
      { method: 'memory.search_nodes', arguments: { query: 'entity-77' }, select: 'entities[*].name' },
      { method: 'memory.open_nodes', arguments: { names: [{ $from: '0[0]' }] } },
      { method: 'memory.open_nodes', arguments: { names: { $from: '0.nothing' } } },
    ],
  });
  expect(textOf(both)).toContain('[0] memory.search_nodes\nresult: ["entity-77"]');
  expect(textOf(both)).toMatch(/\[1\] memory\.open_nodes\n.*entity-77/);
  expect(textOf(both)).toContain(
    '[2] memory.open_nodes failed\nerror: not run: there is nothing at "$from" "0.nothing"',
  );
  expect(both.isError).toBeUndefined();
});

test('a script without a session reads on by the id it was given', async () => {
  const place = emptyPlace();
  mkdirSync(join(place.cwd, 'files'));
  place.file('files/large.txt', LARGE);
  const config = place.file('mcp.json', servers(place));
  const { wrote } = start(['serve', config, '--port', '0'], place);
  const [, url = ''] = (await wrote('stderr', /(http:\/\/127\.0\.0\.1:\d+)/)) as RegExpExecArray;
  const call = async (name: string, args: unknown): Promise<Answer> =>
    (await post(`${url}/mcp`, 'tools/call', { name, arguments: args })).result;
  const path = join(realpathSync(place.cwd), 'files', 'large.txt');
  const large = await call('exec', { method: 'filesystem.read_text_file', arguments: { path } });
  const page = await call('inspect', { ...shown(large, /^read on:/), limit: 10 });
  expect((large.content[0]?.text ?? '') + page.content[0]?.text).toBe(LARGE.slice(0, 2010));
});
