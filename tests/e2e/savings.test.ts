/** Savings of the executable in front of real servers: `mcpx tokens` before, `mcpx stats` after. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { converse, emptyPlace, fillCatalog, INITIALIZE, type Place, run, serverScript } from './program.ts';

const node = process.execPath;

function realServers(place: Place): string {
  const files = { command: node, args: [serverScript('server-filesystem'), place.cwd] };
  const everything = { command: node, args: [serverScript('server-everything')] };
  return place.file('mcp.json', { mcpServers: { files, everything }, connect: { firstListWait: '40s' } });
}

async function talk(place: Place, config: string) {
  const session = converse(['serve', config], place);
  const { result } = await session.request('initialize', INITIALIZE);
  const { tools } = (await session.request('tools/list')).result;
  await session.request('tools/call', {
    name: 'inspect',
    arguments: { server_name: 'files', tool_name: 'read_text_file' },
  });
  expect((await session.exec('everything', 'echo', { message: 'hello' })).text).toContain('hello');
  session.child.stdin?.end();
  expect((await session.finished).code).toBe(0);
  return { tools, instructions: result.instructions };
}

test('mcpx tokens is near what a tokenizer counts', async () => {
  const place = emptyPlace();
  const config = realServers(place);
  await fillCatalog(place, config);
  const { tools, instructions } = await talk(place, config);
  const { code, stdout } = await run(['tokens', '--config', config, '--json'], place);
  expect(code).toBe(0);
  const { total, servers } = JSON.parse(stdout);
  const shown = tools.map(({ name, description, inputSchema }: any) => ({ name, description, inputSchema }));
  const exact = encode(JSON.stringify(shown)).length + encode(instructions).length;
  expect(Math.abs(total.with - exact) / exact).toBeLessThan(0.15);
  expect(total.without).toBeGreaterThan(3 * total.with);
  expect(servers.map(({ server }: { server: string }) => server).sort()).toEqual(['everything', 'files']);
});

test('what two clients saved at the same time is added up', async () => {
  const place = emptyPlace();
  const config = realServers(place);
  await fillCatalog(place, config);
  await Promise.all([talk(place, config), talk(place, config)]);
  const { code, stdout } = await run(['stats', '--json'], place);
  expect(code).toBe(0);
  const stats = JSON.parse(stdout);
  expect(stats).toMatchObject({ menus: 2, calls: 2, lookups: 2 });
  expect(stats.tokens.net).toBe(stats.tokens.menus + stats.tokens.results + stats.tokens.lookups);
  expect(stats.tokens.net).toBeGreaterThan(1000);
});
