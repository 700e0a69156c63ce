/** The question on the terminal before a tool runs. */
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { confirmOnTerminal } from '../../src/cli/ask-confirmation.ts';

afterEach(() => vi.unstubAllEnvs());

const QUESTION = 'Run "files.write"?';

function sit({ yes = false, terminal = true } = {}) {
  const input = Object.assign(new PassThrough(), { isTTY: terminal });
  const output = Object.assign(new PassThrough(), { isTTY: terminal });
  let shown = '';
  output.on('data', (chunk) => {
    shown += chunk;
  });
  const stop = new AbortController();
  const flags = { has: (name: string) => yes && name === 'yes' };
  const confirm = confirmOnTerminal(flags, stop.signal, { input, output });
  return { confirm, input, stop, shown: () => shown };
}

describe('somebody at a terminal', () => {
  test.each([
    ['y', 'accept'],
    ['YES', 'accept'],
    ['n', 'decline'],
    ['', 'decline'],
    ['yeah', 'decline'],
  ])('who types %j means %s', async (typed, verdict) => {
    const { confirm, input, shown } = sit();
    const answer = confirm(QUESTION);
    input.write(`${typed}\n`);
    expect(await answer).toBe(verdict);
    expect(shown()).toContain(`${QUESTION} [y/N]`);
  });

  test('who interrupts has answered nothing', async () => {
    const { confirm, stop } = sit();
    const answer = confirm(QUESTION);
    stop.abort();
    await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
    await expect(confirm(QUESTION)).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('who presses Ctrl-C interrupts, who presses Ctrl-D means no; the next line is one of its own', async () => {
    const interrupting = sit();
    const cancelled = expect(interrupting.confirm(QUESTION)).rejects.toMatchObject({ code: 'cancelled' });
    interrupting.input.write('\x03');
    await cancelled;
    const leaving = sit();
    const answer = leaving.confirm(QUESTION);
    leaving.input.write('\x04');
    expect(await answer).toBe('decline');
    for (const { shown } of [interrupting, leaving]) expect(shown()).toMatch(/\n$/);
  });
});

test('--yes asks nobody', async () => {
  const { confirm, shown } = sit({ yes: true, terminal: false });
  expect([await confirm(QUESTION), shown()]).toEqual(['accept', '']);
});

test('without a terminal, or where nobody is to be asked, the answer is what to type', async () => {
  const refused = { code: 'refused', hint: 'add --yes' };
  await expect(sit({ terminal: false }).confirm(QUESTION)).rejects.toMatchObject(refused);
  vi.stubEnv('MCPX_NO_INPUT', '1');
  await expect(sit().confirm(QUESTION)).rejects.toMatchObject(refused);
});
