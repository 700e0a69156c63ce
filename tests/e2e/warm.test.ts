/** Fifty servers and a catalog on disk: the first answers come from it, and only what is called is started. */
import { describe, expect, test } from 'vitest';
import { treeOf } from './processes.ts';
import { converse, emptyPlace, fillCatalog, fixture, INITIALIZE, type Place } from './program.ts';

const COUNT = 50;
const names = Array.from({ length: COUNT }, (_, index) => `s${index}`);

function fiftyServers(place: Place): string {
  const server = (name: string) => ({ command: process.execPath, args: [fixture('tiny.mjs'), `name=${name}`] });
  const mcpServers = Object.fromEntries(names.map((name) => [name, server(name)]));
  return place.file('mcp.json', { mcpServers, connect: { firstListWait: '40s' } });
}

describe.skipIf(process.platform !== 'linux')('with a warm catalog of fifty servers, on Linux', () => {
  test('nothing is started until the first call, and then one server', async () => {
    const place = emptyPlace();
    const config = fiftyServers(place);
    await fillCatalog(place, config);
    const greet = async () => {
      const session = converse(['serve', config], place);
      const { result } = await session.request('initialize', INITIALIZE);
      expect(result.serverInfo.name).toBe('mcpx');
      return { session, menu: (await session.request('tools/list')).result };
    };

    const first = await greet();
    expect((await first.session.exec('s49', 'echo', { first: true })).text).toContain('first');
    first.session.child.stdin?.end();
    expect((await first.session.finished).code).toBe(0);

    const { session, menu } = await greet();
    expect(menu).toEqual(first.menu);
    expect(treeOf(session.pid)).toEqual([]);
    const servers = await session.request('tools/call', { name: 'inspect', arguments: {} });
    for (const name of names) expect(servers.result.content[0].text).toContain(`${name} (3 tools)`);
    expect(treeOf(session.pid)).toEqual([]);

    expect((await session.exec('s17', 'echo', { hello: 'there' })).text).toContain('there');
    expect(treeOf(session.pid).map(({ command }) => command.split(' ').at(-1))).toEqual(['name=s17']);
  });
});
