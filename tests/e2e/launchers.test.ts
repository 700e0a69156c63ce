/** The first start of servers that a program such as `npx` has to download. */
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { until } from '../setup/until.ts';
import { emptyPlace, fixture, openSession, start, WINDOWS } from './program.ts';

/** A place with a slow `npx` on its PATH, and a config with a server that it starts and one that is there. */
function slowPlace() {
  const place = emptyPlace();
  symlinkSync(resolve(import.meta.dirname, '../fixtures/launchers/npx.mjs'), join(place.cwd, 'npx'));
  const PATH = `${place.cwd}${delimiter}${process.env.PATH}`;
  const downloaded = join(place.cwd, 'downloaded');
  const launched = join(place.cwd, 'launched');
  const env = { MCPX_TEST_DOWNLOADED: downloaded, MCPX_TEST_LAUNCHES: launched };
  const config = {
    mcpServers: {
      slow: { command: 'npx', args: ['-y', fixture('stdio.mjs'), 'slow'], env, startupTimeout: '1s' },
      there: { command: process.execPath, args: [fixture('stdio.mjs'), 'there'] },
    },
  };
  return {
    place: { ...place, env: { ...place.env, PATH } },
    config,
    finish: () => writeFileSync(downloaded, ''),
    launched: () => existsSync(launched),
  };
}

describe.skipIf(WINDOWS)('while npx downloads a server', () => {
  test('the others answer, and it is there as soon as it has come', async () => {
    const { place, config, finish, launched } = slowPlace();
    const session = await openSession(place, config);
    expect(await session.exec('there', 'echo', { a: 1 })).toEqual({ text: '{"a":1}', isError: false });
    await until(launched);
    finish();
    expect(await session.exec('slow', 'echo', { a: 2 })).toEqual({ text: '{"a":2}', isError: false });
  });

  test('a command says which server it waits for and since when, and waits for longer than a start may take', async () => {
    const { place, config, finish } = slowPlace();
    const running = start(['tools', '--config', place.file('mcp.json', config)], place);
    await running.wrote('stderr', 'server "slow" is still starting after 10 s: npx is downloading it');
    finish();
    const { code, stdout } = await running.finished;
    expect(code).toBe(0);
    expect(stdout).toContain('slow.echo');
    expect(stdout).toContain('there.echo');
  });
});
