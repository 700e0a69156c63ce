/** The status page of the executable in a real browser: its states, its words, what it may load, and how it looks. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { PATIENCE } from '../setup/until.ts';
import { emptyPlace, fixture, post, run, start } from './program.ts';

const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

const CONFIG = {
  mcpServers: {
    calc: { type: 'builtin', builtin: 'math' },
    texts: { type: 'builtin', builtin: 'time' },
    broken: { command: 'no-such-command-anywhere' },
    resting: { command: process.execPath, args: [fixture('tiny.mjs')], disabled: true },
  },
};

let browser: Browser;

/** A gateway on this config; resolves when it listens. */
async function gateway(config: unknown, env: Record<string, string> = {}, place = emptyPlace()): Promise<string> {
  const file = place.file('mcp.json', config);
  const running = start(['serve', file, '--http', '127.0.0.1:0'], { ...place, env: { ...place.env, ...env } });
  onTestFinished(async () => {
    running.child.kill('SIGTERM');
    await running.finished;
  });
  const [url] = (await running.wrote('stderr', /http:\/\/127\.0\.0\.1:\d+/)) as RegExpExecArray;
  return url;
}

interface Opened {
  page: Page;
  /** Errors and warnings of the browser. */
  complaints: string[];
  /** Every URL that was asked for. */
  asked: string[];
}

async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1000, height: 900 }, ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => void complaints.push(String(error)));
  page.on('request', (request) => void asked.push(request.url()));
  await page.goto(url);
  return { page, complaints, asked };
}

async function call(url: string, server: string, tool: string, args: unknown, headers = {}): Promise<void> {
  const params = { name: 'exec', arguments: { server_name: server, tool_name: tool, arguments: args } };
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  expect(response.status).toBe(200);
  await response.text();
}

const PROBES = readFileSync(fixture('../browser/probes.js'), 'utf8').replaceAll(/^export /gm, '');

/** Runs one of the functions of the browser fixture in a page. */
const probe = <T>(page: Page, name: string, ...values: unknown[]): Promise<T> =>
  page.evaluate<T>(`(() => { ${PROBES}; return ${name}(...${JSON.stringify(values)}); })()`);

const row = (page: Page, name: string) => page.locator('#servers li', { has: page.locator('b', { hasText: name }) });

describe.skipIf(BROWSER === undefined)('the status page in Chromium', () => {
  beforeAll(async () => {
    browser = await chromium.launch({
      ...(BROWSER !== undefined && { executablePath: BROWSER }),
      args: ['--no-sandbox', '--force-color-profile=srgb'],
    });
  });
  afterAll(() => browser?.close());

  test('shows every server with its state, the reason and the command that mends it', async () => {
    const place = emptyPlace();
    const url = await gateway(CONFIG, {}, place);
    await call(url, 'calc', 'calculate', { expression: '6*7' });
    const { page, complaints, asked } = await open(url);
    await page.getByText('live', { exact: true }).waitFor();
    await row(page, 'calc').getByText('running').waitFor();
    const broken = row(page, 'broken');
    await broken.getByText('not available').waitFor();
    expect(await broken.textContent()).toContain('no-such-command-anywhere');
    expect(await broken.textContent()).toContain('To fix it: install "no-such-command-anywhere"');
    const [program, ...typed] = ((await broken.locator('code').textContent()) ?? '').split(' ');
    expect([program, ...typed]).toEqual(['mcpx', 'tools', '--config', join(place.cwd, 'mcp.json'), 'broken']);
    const tried = await run(typed, place);
    expect(tried).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('"no-such-command-anywhere" was not found'),
    });
    expect(await page.locator('#servers li b').allTextContents()).toEqual(['broken', 'calc', 'texts', 'resting']);
    expect(await row(page, 'resting').textContent()).toContain('switched off in the config');
    expect(complaints).toEqual([]);
    expect(asked.filter((one) => !one.startsWith(url) && !one.startsWith('data:'))).toEqual([]);
  });

  test('shows what a client reads with mcpx and without, as the demo and the commands count it', async () => {
    const place = emptyPlace();
    const url = await gateway(CONFIG, {}, place);
    const { page } = await open(url);
    const reading = page.locator('#readings');
    await reading.getByText('instead of').first().waitFor();
    const { stdout } = await run(['tokens', '--json', '--config', join(place.cwd, 'mcp.json')], place);
    const { total, clients } = JSON.parse(stdout);
    expect(await reading.textContent()).toContain(`≈ ${total.with} tokens`);
    expect(await reading.textContent()).toContain(`≈ ${total.without.toLocaleString('en-US')} for 8 tools`);
    const claude = clients.find(({ client }: { client: string }) => client === 'Claude Code');
    const names = 'Claude Code, which shows names and has its own search';
    await reading.getByText(`${names}: ≈ ${claude.with} instead of ≈ ${claude.without}`).waitFor();
    // Looking is not counted as saving.
    await page.getByText('nothing yet').waitFor();
    await call(url, 'calc', 'calculate', { expression: '6*7' });
    await post(`${url}/mcp`, 'tools/list');
    await page.getByText(/by menus instead of lists of tools \(1×\)/).waitFor();
    await page.getByText('How this is counted').click();
    await page.getByText('four characters to a token').waitFor();
  });

  test('says what to do where there is no server, and nothing that is not so', async () => {
    const url = await gateway({ mcpServers: {} });
    const { page, complaints } = await open(url);
    await page.getByText('No server is configured.').waitFor();
    const text = await page.locator('main').innerText();
    for (const wrong of ['A client reads', 'Searches', 'usable']) expect(text).not.toContain(wrong);
    expect(complaints).toEqual([]);
  });

  test('shows faults of mcpx itself above everything else, and nothing where there are none', async () => {
    const place = emptyPlace();
    const blocked = join(place.file('in-the-way', ''), 'home');
    const { page } = await open(await gateway(CONFIG, { MCPX_HOME: blocked }, place));
    const card = page.locator('#problems-card');
    await card.getByRole('heading', { name: 'Problems to fix' }).waitFor();
    await card.getByText(`the folder "${blocked}" cannot be written`).waitFor();
    const { page: sound } = await open(await gateway(CONFIG));
    await row(sound, 'calc').waitFor();
    expect(await sound.locator('#problems-card').isVisible()).toBe(false);
  });

  test('shows calls as they happen, and no argument of them', async () => {
    const url = await gateway(CONFIG);
    const { page } = await open(url);
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByText('No call since this page was opened.').waitFor();
    await call(url, 'calc', 'calculate', { expression: '123456+1' });
    await page.locator('#calls li', { hasText: 'calc.calculate' }).getByText('ok').waitFor();
    await call(url, 'calc', 'calculate', { expression: 5, nonsense: true });
    await page.locator('#calls li', { hasText: 'arguments refused' }).waitFor();
    expect(await page.content()).not.toContain('123456');
  });

  test('finds tools by what they do, with their signatures', async () => {
    const url = await gateway(CONFIG);
    const { page } = await open(url);
    await page.getByLabel('What do you want to do?').fill('calculate something');
    const first = page.locator('#tools li').first();
    await first.getByText('calc.calculate').waitFor();
    expect(await first.locator('pre').textContent()).toMatch(/^calculate\(args: \{\n {2}expression: string/);
    await page.getByLabel('What do you want to do?').fill('xyzzy');
    await page.getByText('No tool was found.').waitFor();
  });

  test('asks for a token where there is one, says when it is refused, and keeps it nowhere', async () => {
    const url = await gateway(CONFIG, { MCPX_TOKEN: 'correct-horse-battery' });
    const { page, complaints } = await open(url);
    const field = page.getByLabel('Token');
    await field.waitFor();
    expect(complaints).toEqual([]);
    expect(await page.locator('#board').isVisible()).toBe(false);
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This token was refused.').waitFor();
    await field.fill('correct-horse-battery');
    await page.keyboard.press('Enter');
    await row(page, 'calc').waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    expect(await probe(page, 'keptAnywhere')).not.toContain('correct-horse');
    expect(page.url()).not.toContain('correct-horse');
    await page.reload();
    await page.getByLabel('Token').waitFor();
  });

  test('speaks Chinese to who prefers it, and changes by a button that a keyboard reaches', async () => {
    const url = await gateway(CONFIG);
    const { page } = await open(url, { locale: 'zh-CN' });
    await page.getByRole('heading', { name: '服务器' }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('zh');
    await row(page, 'broken').getByText('不可用').waitFor();
    await page.getByRole('button', { name: 'English' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Servers' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Servers' }).waitFor();
  });

  test('says that the gateway has gone, and shows it again when it is back', async () => {
    const place = emptyPlace();
    const slow = { command: process.execPath, args: [fixture('stdio.mjs')] };
    const file = place.file('mcp.json', { mcpServers: { ...CONFIG.mcpServers, slow } });
    const first = start(['serve', file, '--http', '127.0.0.1:0'], place);
    const [url] = (await first.wrote('stderr', /http:\/\/127\.0\.0\.1:\d+/)) as RegExpExecArray;
    const { page } = await open(url);
    await page.getByText('live', { exact: true }).waitFor();
    const sleeping = call(url, 'slow', 'sleep', { ms: 60_000 }).catch(() => undefined);
    await page.locator('#calls li', { hasText: 'slow.sleep' }).getByText('running').waitFor();
    first.child.kill('SIGKILL');
    await first.finished;
    await sleeping;
    await page.getByText('connection lost, trying again').waitFor();
    const second = start(['serve', file, '--http', new URL(url).host], place);
    onTestFinished(async () => {
      second.child.kill('SIGTERM');
      await second.finished;
    });
    await page.getByText('live', { exact: true }).waitFor();
    await page.locator('#calls li', { hasText: 'slow.sleep' }).getByText('ended while disconnected').waitFor();
  });

  test('shows what hostile servers say of themselves as text', async () => {
    const markup = '<img src=x onerror=document.title="owned">';
    const place = emptyPlace();
    const tool = { name: `evil ${markup}`, description: `Find treasure ${markup}`, inputSchema: { type: 'object' } };
    place.file('evil.mjs', `export const tools = [{ ...${JSON.stringify(tool)}, handler: () => 'x' }];`);
    const url = await gateway({ mcpServers: { bad: { command: markup }, evil: { module: './evil.mjs' } } }, {}, place);
    const { page } = await open(url);
    await row(page, 'bad').getByText('not available').waitFor();
    await page.getByLabel('What do you want to do?').fill('find treasure');
    await page.locator('#tools li', { hasText: `Find treasure ${markup}` }).waitFor();
    await fetch(`${url}/api/default/tools/evil/${encodeURIComponent(tool.name)}`, { method: 'POST' });
    await page.locator('#calls li', { hasText: 'evil.evil' }).waitFor();
    expect(await page.title()).toBe('mcpx');
    expect(await page.locator('body img').count()).toBe(0);
  });

  test('a keyboard reaches every control in order, and shows where it is', async () => {
    const url = await gateway({ ...CONFIG, profiles: { default: {}, other: {} } });
    const { page } = await open(url);
    await page.locator('#readings').getByText('instead of').first().waitFor();
    const reached: { name: string; visible: boolean }[] = [];
    for (let step = 0; step < 5; step++) {
      await page.keyboard.press('Tab');
      reached.push(await probe(page, 'focused'));
    }
    expect(reached.map(({ name }) => name)).toEqual([
      'Skip to the content',
      '中文',
      'How this is counted',
      'What do you want to do?',
      'Profile',
    ]);
    expect(reached.filter(({ visible }) => !visible)).toEqual([]);
  });

  test('every control has a name, and headings are in order', async () => {
    const url = await gateway(CONFIG);
    const { page } = await open(url);
    await row(page, 'calc').waitFor();
    expect(await probe(page, 'namelessControls')).toEqual([]);
    const levels = await probe<string[]>(page, 'headings');
    expect(levels[0]).toBe('H1');
    expect(levels.filter((level) => level === 'H1')).toHaveLength(1);
  });

  /** Contrast as WCAG 2 counts it; 4.5 is enough for text of this size. */
  test.each(['light', 'dark'] as const)('text can be read: %s', async (colorScheme) => {
    const url = await gateway(CONFIG);
    const { page } = await open(url, { colorScheme });
    await row(page, 'broken').getByText('not available').waitFor();
    const worst = await probe<{ ratio: number; of: string }>(page, 'worstContrast');
    expect(worst.ratio, worst.of).toBeGreaterThan(4.5);
  });

  test('fits a telephone without scrolling sideways, whatever servers are called', async () => {
    const long = 'a-server-with-a-name-that-goes-on-until-the-limit-of-64-characters';
    const url = await gateway({
      mcpServers: { ...CONFIG.mcpServers, [long.slice(0, 64)]: { type: 'builtin', builtin: 'time' } },
    });
    const { page } = await open(url, { viewport: { width: 360, height: 740 } });
    await row(page, 'broken').getByText('not available').waitFor();
    await page.getByLabel('What do you want to do?').fill('convert a time');
    await page.locator('#tools li').first().waitFor();
    expect(await probe(page, 'overflow')).toBeLessThanOrEqual(0);
  });

  const looks: { name: string; options: BrowserContextOptions; token?: string }[] = [
    { name: 'light', options: { colorScheme: 'light' } },
    { name: 'dark', options: { colorScheme: 'dark' } },
    { name: 'chinese', options: { colorScheme: 'light', locale: 'zh-CN' } },
    { name: 'locked', options: { colorScheme: 'light' }, token: 'secret-of-this-test' },
  ];
  test.each(looks)('looks as it did: $name', async ({ name, options, token }) => {
    const url = await gateway(CONFIG, token === undefined ? {} : { MCPX_TOKEN: token });
    const { page } = await open(url, options);
    if (token === undefined) {
      await row(page, 'broken').locator('code').waitFor();
      await page.locator('#readings .meter').waitFor();
    } else await page.getByLabel('Token').waitFor();
    await compareLook(page, name);
  });
});

const BASELINE = join(import.meta.dirname, '..', 'fixtures', 'page-looks.json');
/** Cells of the coarse picture, about as high as a line of text. */
const GRID = { columns: 40, rows: 36 };
/** Fonts differ between machines, places and themes do not: the share of cells that both have, and brightness of 255. */
const ALIKE = { ink: 0.7, light: 8 };

interface Look {
  light: number;
  ink: string;
}

/** A picture of the page, made coarse, against the one on record; UPDATE_LOOKS=1 writes the record. */
async function compareLook(page: Page, name: string): Promise<void> {
  const picture = (await page.screenshot({ animations: 'disabled' })).toString('base64');
  const blank = await page.context().newPage();
  const look = await probe<Look>(blank, 'coarse', picture, GRID.columns, GRID.rows);
  const record: Record<string, Look> = existsSync(BASELINE) ? JSON.parse(readFileSync(BASELINE, 'utf8')) : {};
  if (process.env.UPDATE_LOOKS === '1') {
    writeFileSync(BASELINE, `${JSON.stringify({ ...record, [name]: look }, null, 1)}\n`);
    return;
  }
  const { light, ink } = record[name] ?? { light: 0, ink: '' };
  const cells = [...look.ink].map((cell, at) => [cell === '1', ink[at] === '1'] as const);
  const both = cells.filter(([now, then]) => now && then).length;
  const either = cells.filter(([now, then]) => now || then).length;
  expect(both / either, `things are elsewhere than recorded (${name})`).toBeGreaterThan(ALIKE.ink);
  expect(Math.abs(look.light - light), `colours are others than recorded (${name})`).toBeLessThan(ALIKE.light);
}
