/** The executable finds tools of real servers by what they do, for a model and in a shell, and learns which are used. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BUNDLE, emptyPlace, openSession, type Place, run, serverScript, start } from './program.ts';

const node = process.execPath;

const configOf = (place: Place, more = {}) => ({
  mcpServers: {
    everything: { command: node, args: [serverScript('server-everything')] },
    filesystem: { command: node, args: [serverScript('server-filesystem'), place.cwd] },
    memory: {
      command: node,
      args: [serverScript('server-memory')],
      env: { MEMORY_FILE_PATH: join(place.cwd, 'memory.json') },
    },
  },
  ...more,
});

const usageFile = (place: Place) => join(String(place.env.HOME), '.mcpx', 'usage.json');

test('inspect finds what an English or a Chinese question wants', async () => {
  const place = emptyPlace();
  const { request } = await openSession(place, configOf(place));
  const inspect = async (args: unknown) => {
    const { result } = await request('tools/call', { name: 'inspect', arguments: args });
    return result.content[0].text as string;
  };
  expect(await inspect({ query: 'make a new folder' })).toMatch(/^filesystem\.create_directory\(/);
  expect(await inspect({ query: '把两个数加起来' })).toMatch(/^everything\.get-sum\(/);
  expect(await inspect({ query: '重命名文件', server_name: 'filesystem' })).toMatch(/^filesystem\.move_file\(/);
  const found = await inspect({ query: 'what do you know about Tom' });
  expect(found.split('\n')[0]).toMatch(/^memory\./);
  expect(await inspect({ query: 'xyzzy' })).toMatch(/^no tool for "xyzzy"; the servers are: /);
});

test('mcpx tools -s shows what fits, best first, as a table and as JSON', async () => {
  const place = emptyPlace();
  const config = place.file('mcp.json', configOf(place));
  const shown = await run(['tools', '-s', '新建文件夹', '--config', config], place);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout.split('\n')[0]).toMatch(/^filesystem\.create_directory +Create a new directory/);
  const json = await run(['tools', 'memory', '--search', 'forget a person', '--json', '--config', config], place);
  const hits = JSON.parse(json.stdout);
  expect(hits[0]).toMatchObject({ server: 'memory', tool: { name: expect.stringMatching(/^delete_/) } });
  expect(hits.every(({ server, score }: { server: string; score: number }) => server === 'memory' && score > 0)).toBe(
    true,
  );
  const nothing = await run(['tools', '-s', 'xyzzy', '--json', '--config', config], place);
  expect(nothing).toMatchObject({ code: 0, stdout: '[]\n', stderr: 'no tool for "xyzzy"\n' });
});

test('the executable reads a question as the same program for Node does', async () => {
  const place = emptyPlace();
  for (const question of [
    '查一下现在几点，然后算一下二加三',
    '有没有记住张三的生日',
    'what time is it in “São Paulo”',
  ]) {
    const args = ['tools', '--demo', '-s', question, '--json'];
    const [executable, bundle] = [
      await run(args, place),
      await start(args, place, [process.execPath, BUNDLE]).finished,
    ];
    expect(executable.code).toBe(0);
    expect(JSON.parse(executable.stdout)).toEqual(JSON.parse(bundle.stdout));
  }
});

test('a question without words is a wrong command line', async () => {
  const { code, stderr } = await run(['tools', '--demo', '-s', ' '], emptyPlace());
  expect(code).toBe(2);
  expect(stderr).toContain('--search needs a query');
});

test('calls that succeed are counted, unless that is switched off', async () => {
  const place = emptyPlace();
  const config = place.file('mcp.json', configOf(place));
  for (const a of ['1', '2']) await run(['exec', 'everything.get-sum', `a=${a}`, 'b=2', '--config', config], place);
  await run(['exec', 'everything.get-sum', 'a=x', '--config', config], place);
  expect(JSON.parse(readFileSync(usageFile(place), 'utf8'))).toEqual({
    format: 1,
    calls: [['everything', 'get-sum', 2]],
  });

  const other = emptyPlace();
  const off = other.file('mcp.json', configOf(other, { search: { usage: false } }));
  const { code } = await run(['exec', 'everything.get-sum', 'a=1', 'b=2', '--config', off], other);
  expect([code, existsSync(usageFile(other))]).toEqual([0, false]);
});
