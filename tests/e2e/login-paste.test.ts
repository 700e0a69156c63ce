/** Sign-ins whose browser is on another machine: the user pastes the address of the last page, on a terminal or through a pipe. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { until } from '../setup/until.ts';
import { browse, protectedWorld } from '../upstream/oauth-world.ts';
import { EXECUTABLE, emptyPlace, start } from './program.ts';
import { HAS_TERMINAL, onTerminal } from './pseudo-terminal.ts';

/** A server and the arguments that sign in to it without a browser. */
async function place() {
  const world = await protectedWorld();
  const here = emptyPlace();
  here.file('mcp.json', { mcpServers: { docs: { url: world.url } } });
  return { here, args: ['login', 'docs', '--config', join(here.cwd, 'mcp.json'), '--no-browser'] };
}

const PAGE = /http:\/\/127\.0\.0\.1:\d+\/auth\?\S+/;
/** The address of the last page, which this browser cannot show. */
const lastPage = (page: string) => browse(page, { stopAt: redirectOf(page) });
const redirectOf = (page: string) => String(new URL(page).searchParams.get('redirect_uri'));

describe.skipIf(!HAS_TERMINAL)('on a terminal', () => {
  test('a wrong address and one of another sign-in are told, the right one signs in', async () => {
    const { here, args } = await place();
    const terminal = onTerminal([EXECUTABLE, ...args], here);
    const [page] = await terminal.until(PAGE);
    await terminal.until(/paste the address .*\n.*> /s);
    terminal.type('no address\n');
    await terminal.until(/this is not the address of the last page/);
    terminal.type(`${redirectOf(page)}?code=x&state=of-another\n`);
    await terminal.until(/the address is of another sign-in/);
    terminal.type(`${await lastPage(page)}\n`);
    expect(await terminal.finished).toMatchObject({ code: 0, shown: expect.stringContaining('signed in to docs') });
  });

  test('nothing is drawn over the line on which the user types', async () => {
    const { here, args } = await place();
    const terminal = onTerminal([EXECUTABLE, ...args], here);
    await terminal.until(/paste the address .*\n.*> /s);
    const from = terminal.shown().length;
    terminal.type('x');
    await terminal.until(/x/, from);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(terminal.shown().slice(from)).not.toContain('waiting for the sign-in');
    terminal.type('\u0003');
    await terminal.finished;
  });

  test.each([
    [[], ['http://127.0.0.1']],
    [['--no-browser'], []],
  ])('with %j on a machine with a screen, the browser opens %j', async (more, opened) => {
    const { here, args } = await place();
    const file = join(here.cwd, 'opened');
    writeFileSync(join(here.cwd, 'xdg-open'), `#!/bin/sh\necho "$1" >> ${file}\n`, { mode: 0o755 });
    const env = { ...here.env, DISPLAY: ':9', PATH: `${here.cwd}:${process.env.PATH}` };
    const command = [EXECUTABLE, ...args.filter((word) => word !== '--no-browser'), ...more];
    const terminal = onTerminal(command, { ...here, env });
    const [page] = await terminal.until(PAGE);
    if (opened.length > 0) await until(() => existsSync(file));
    await browse(page);
    expect((await terminal.finished).code).toBe(0);
    const pages = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    expect(pages.map((url) => url.replace(/:\d+\/.*/, ''))).toEqual(opened);
  });

  test('Ctrl-C ends the sign-in with 130', async () => {
    const { here, args } = await place();
    const terminal = onTerminal([EXECUTABLE, ...args], here);
    await terminal.until(/paste the address .*\n.*> /s);
    terminal.type('\u0003');
    expect((await terminal.finished).code).toBe(130);
  });
});

describe('through a pipe', () => {
  test('the pasted address signs in, and the command ends', async () => {
    const { here, args } = await place();
    const running = start([...args, '--json'], here);
    const [line] = (await running.wrote('stdout', /^\{.*\}$/m)) as RegExpExecArray;
    const { url } = JSON.parse(line) as { url: string };
    running.child.stdin?.write('no address\n');
    await running.wrote('stderr', /this is not the address of the last page/);
    running.child.stdin?.write(`${await lastPage(url)}\n`);
    const { code, stdout } = await running.finished;
    expect([code, JSON.parse(stdout.trim().split('\n')[1] ?? '')]).toEqual([
      0,
      expect.objectContaining({ signedIn: true }),
    ]);
  });

  test('the end of the pipe does not end the sign-in: the browser may still come', async () => {
    const { here, args } = await place();
    const running = start([...args, '--json'], here);
    running.child.stdin?.end();
    const [line] = (await running.wrote('stdout', /^\{.*\}$/m)) as RegExpExecArray;
    await browse((JSON.parse(line) as { url: string }).url);
    expect((await running.finished).code).toBe(0);
  });
});
