/** Several steps in one `exec`, with the executable and real servers: ordered writes, references, each, edits of large results. */
import { mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { emptyPlace, openSession, serverScript } from './program.ts';

const node = process.execPath;

interface Answer {
  isError?: boolean;
  content: { type: string; text: string }[];
  structuredContent?: { results?: object[]; value?: unknown };
}

async function open() {
  const place = emptyPlace();
  mkdirSync(join(place.cwd, 'files'));
  const folder = realpathSync(join(place.cwd, 'files'));
  const memory = { MEMORY_FILE_PATH: join(place.cwd, 'memory.json') };
  const session = await openSession(place, {
    mcpServers: {
      files: { command: node, args: [serverScript('server-filesystem'), folder] },
      memory: { command: node, args: [serverScript('server-memory')], env: memory },
      everything: { command: node, args: [serverScript('server-everything')] },
    },
  });
  const exec = async (args: object): Promise<Answer> =>
    (await session.request('tools/call', { name: 'exec', arguments: args })).result;
  const file = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(file(name), 'utf8');
  const write = (name: string, content: unknown) => ({
    tool: 'files.write_file',
    arguments: { path: file(name), content },
  });
  return { place, folder, exec, file, read, write };
}

const textOf = ({ content }: Answer) => content.map(({ text }) => text).join('\n');

test('writes and a move happen in the order of the batch, and a failure stops what follows', async () => {
  const { exec, file, read, write } = await open();
  const move = { tool: 'files.move_file', arguments: { source: file('a.txt'), destination: file('b.txt') } };
  const done = await exec({
    calls: [write('a.txt', 'first'), write('a.txt', 'second'), move, write('a.txt', 'third')],
  });
  expect(done.isError).toBeUndefined();
  expect([read('a.txt'), read('b.txt')]).toEqual(['third', 'second']);

  const outside = { tool: 'files.write_file', arguments: { path: '/nowhere/at/all.txt', content: 'x' } };
  const stopped = await exec({ calls: [write('c.txt', 'c'), outside, write('c.txt', 'changed')] });
  expect(textOf(stopped)).toContain('[1] files.write_file failed');
  expect(textOf(stopped)).toContain('[2] files.write_file not run: call 1 failed');
  expect(read('c.txt')).toBe('c');
});

test('a name becomes an id and the id is used, in one call', async () => {
  const { exec } = await open();
  const entities = ['alpha', 'beta'].map((name, n) => ({ name, entityType: 'key', observations: [`id-${n}`] }));
  const told = await exec({
    calls: [
      { tool: 'memory.create_entities', arguments: { entities }, show: false },
      { tool: 'memory.read_graph', show: false },
      {
        tool: 'everything.echo',
        arguments: { message: "open {{1.entities[?name=='beta'].observations[0] | [0]}} now" },
      },
    ],
  });
  expect(textOf(told)).toMatch(
    /\[0\].*\n\(not shown\)\n+\[1\].*\n\(not shown\)\n+\[2\] everything\.echo\nEcho: open id-1 now/,
  );
});

test('forty files are listed and each is read, in one call', async () => {
  const { exec, folder, file, place } = await open();
  const names = Array.from({ length: 40 }, (_, n) => `note-${String(n).padStart(2, '0')}.txt`);
  for (const name of names) place.file(`files/${name}`, `content of ${name}`);
  const answer = await exec({
    calls: [
      { tool: 'files.list_directory', arguments: { path: folder }, show: false },
      {
        tool: 'files.read_text_file',
        each: "0[*].regex_find(@, '^\\[FILE\\] (.*)$')",
        arguments: { path: `${folder}/{{item}}` },
      },
    ],
  });
  const blocks = answer.content.slice(1).map(({ text }) => text.trim());
  expect(blocks).toEqual(
    names.map((name, n) => `[1.${n}] files.read_text_file ${JSON.stringify(name)}\ncontent of ${name}`),
  );
  const many = await exec({
    tool: 'files.read_text_file',
    each: names.concat(names, names),
    arguments: { path: file('{{item}}') },
  });
  expect([many.isError, textOf(many)]).toEqual([
    true,
    expect.stringContaining('has 120 elements, and 100 calls are left'),
  ]);
});

test('a result of 300 KB is edited and written back without passing through the model', async () => {
  const { exec, place, file, read, write } = await open();
  const lines = Array.from({ length: 6000 }, (_, n) => `${n} http://old.example/${'x'.repeat(30)} 中 😀\r`);
  const large = `${lines.join('\n')}\n`;
  place.file('files/large.txt', large);
  const get = { tool: 'files.read_text_file', arguments: { path: file('large.txt') } };

  const together = await exec({
    calls: [{ ...get, show: false }, write('copy.txt', { $from: '0' }), write('new.txt', '# head\n{{0}}')],
  });
  expect(textOf(together).length).toBeLessThan(500);
  expect([read('copy.txt') === large, read('new.txt') === `# head\n${large}`]).toEqual([true, true]);

  const shown = await exec(get);
  expect(textOf(shown).length).toBeLessThan(3000);
  const [, id = ''] = /kept for 30 minutes as "(\w+)"/.exec(textOf(shown)) ?? [];
  const edited = await exec(write('edited.txt', { $from: `${id} | replace(@, 'old.example', 'new.example')` }));
  expect(textOf(edited).length).toBeLessThan(500);
  expect(read('edited.txt')).toBe(large.replaceAll('old.example', 'new.example'));

  const pretty = `${JSON.stringify({ version: 1, rows: lines }, null, 4)}\n`;
  place.file('files/data.json', pretty);
  const data = await exec({ tool: 'files.read_text_file', arguments: { path: file('data.json') }, show: false });
  const [, kept = ''] = /kept as "(\w+)"/.exec(textOf(data)) ?? [];
  await exec({
    calls: [
      write('same.json', { $from: kept }),
      write('next.json', { $from: `${kept} | merge(@, {version: \`2\`})` }),
      write('few.json', { $from: `${kept} | {version: version, rows: rows[:2]}` }),
    ],
  });
  expect(read('same.json')).toBe(pretty);
  expect(JSON.parse(read('next.json'))).toEqual({ version: 2, rows: lines });
  expect(JSON.parse(read('few.json'))).toEqual({ version: 1, rows: lines.slice(0, 2) });
});

test('the last five ERROR lines of a log are selected', async () => {
  const { exec, place, file } = await open();
  const lines = Array.from({ length: 3000 }, (_, n) => `2026-01-01 ${n % 9 === 4 ? 'ERROR' : 'INFO'} took ${n} ms`);
  place.file('files/app.log', `${lines.join('\n')}\n`);
  const log = { tool: 'files.read_text_file', arguments: { path: file('app.log') } };
  const last = lines.filter((line) => line.includes('ERROR')).slice(-5);
  const selected = await exec({ ...log, select: "[?contains(@,'ERROR')][-5:]" });
  expect(textOf(selected)).toBe(`${last.join('\n')}\n`);
  expect(selected.structuredContent).toEqual({ value: last });
  const times = await exec({ ...log, select: "[?contains(@,'ERROR')][-5:] | [*].regex_find(@, 'took (\\d+) ms$')" });
  expect(times.structuredContent).toEqual({ value: last.map((line) => / (\d+) ms$/.exec(line)?.[1]) });
  expect(textOf(await exec({ ...log, select: 'length(@)' }))).toBe('result: 3000\n');
});
