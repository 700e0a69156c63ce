/** The status page of the executable in a real browser: its states, its words, what it may load, and how it looks. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { emptyPlace, fixture, start } from './program.ts';

const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

const CONFIG = {
  mcpServers: {
    calc: { type: 'builtin', builtin: 'math' },
    texts: { type: 'builtin', builtin: 'text' },
    broken: { command: 'no-such-command-anywhere' },
    resting: { command: process.execPath, args: [fixture('tiny.mjs')], disabled: true },
  },
};

let browser: Browser;

/** A gateway on this config; resolves when it listens. */
async function gateway(config: unknown, env: Record<string, string> = {}): Promise<string> {
  const place = emptyPlace();
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
  /** What the browser complained about. */
  complaints: string[];
  /** Every URL that was asked for. */
  asked: string[];
}

async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1000, height: 900 }, ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(20_000);
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

const row = (page: Page, name: string) => page.locator('tr', { has: page.locator('th', { hasText: name }) });

describe.skipIf(BROWSER === undefined)('the status page in Chromium', () => {
  beforeAll(async () => {
    browser = await chromium.launch({
      ...(BROWSER !== undefined && { executablePath: BROWSER }),
      args: ['--no-sandbox', '--force-color-profile=srgb'],
    });
  });
  afterAll(() => browser?.close());

  test('shows every server with its state, the reason and the command that mends it', async () => {
    const url = await gateway(CONFIG);
    await call(url, 'calc', 'calculate', { expression: '6*7' });
    const { page, complaints, asked } = await open(url);
    await page.getByText('live', { exact: true }).waitFor();
    await row(page, 'calc').getByText('running').waitFor();
    const broken = row(page, 'broken');
    await broken.getByText('not available').waitFor();
    expect(await broken.textContent()).toContain('no-such-command-anywhere');
    expect(await broken.textContent()).toContain('To mend it: install "no-such-command-anywhere"');
    expect(await broken.locator('code').textContent()).toBe('mcpx tools broken');
    expect(await row(page, 'resting').textContent()).toContain('switched off in the config');
    expect(complaints).toEqual([]);
    expect(asked.filter((one) => !one.startsWith(url) && !one.startsWith('data:'))).toEqual([]);
  });

  test('shows calls as they happen, and no argument of them', async () => {
    const url = await gateway(CONFIG);
    const { page } = await open(url);
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByText('No call since this page was opened.').waitFor();
    await call(url, 'calc', 'calculate', { expression: '123456+1' });
    await page.locator('#calls tr', { hasText: 'calc.calculate' }).getByText('ok').waitFor();
    await call(url, 'calc', 'calculate', { expression: 5, nonsense: true });
    await page.locator('#calls tr', { hasText: 'arguments refused' }).waitFor();
    expect(await page.content()).not.toContain('123456');
  });

  test('finds tools by what they do, with their signatures', async () => {
    const url = await gateway(CONFIG);
    const { page } = await open(url);
    await page.getByLabel('What do you want to do?').fill('calculate something');
    const first = page.locator('#tools li').first();
    await first.getByText('calculate').waitFor();
    expect(await first.textContent()).toContain('expression: string');
  });

  test('asks for a token where there is one, says when it is refused, and keeps it nowhere', async () => {
    const url = await gateway(CONFIG, { MCPX_TOKEN: 'correct-horse-battery' });
    const { page } = await open(url);
    const field = page.getByLabel('Token');
    await field.waitFor();
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
    const file = place.file('mcp.json', CONFIG);
    const first = start(['serve', file, '--http', '127.0.0.1:0'], place);
    const [url] = (await first.wrote('stderr', /http:\/\/127\.0\.0\.1:\d+/)) as RegExpExecArray;
    const { page } = await open(url);
    await page.getByText('live', { exact: true }).waitFor();
    first.child.kill('SIGTERM');
    await first.finished;
    await page.getByText('connection lost, trying again').waitFor();
    const second = start(['serve', file, '--http', new URL(url).host], place);
    onTestFinished(async () => {
      second.child.kill('SIGTERM');
      await second.finished;
    });
    await page.getByText('live', { exact: true }).waitFor();
  });

  test('shows what a hostile server says of itself as text', async () => {
    const url = await gateway({
      mcpServers: { bad: { command: '<img src=x onerror=document.title="owned">' } },
    });
    const { page } = await open(url);
    await row(page, 'bad').getByText('not available').waitFor();
    expect(await page.title()).toBe('mcpx');
    expect(await page.locator('#servers img').count()).toBe(0);
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

  test('fits a telephone without scrolling sideways', async () => {
    const url = await gateway(CONFIG);
    const { page } = await open(url, { viewport: { width: 360, height: 740 } });
    await row(page, 'broken').getByText('not available').waitFor();
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
    if (token === undefined) await row(page, 'broken').locator('code').waitFor();
    else await page.getByLabel('Token').waitFor();
    await compareLook(page, name);
  });
});

const BASELINE = join(import.meta.dirname, '..', 'fixtures', 'page-looks.json');
/** Cells of the coarse picture; fonts differ between machines, places and colours do not. */
const GRID = { width: 20, height: 18 };
/** Mean difference of brightness per cell, of 255. */
const TOLERANCE = 8;

/** A picture of the page, made coarse, against the one on record; UPDATE_LOOKS=1 writes the record. */
async function compareLook(page: Page, name: string): Promise<void> {
  const picture = (await page.screenshot({ animations: 'disabled' })).toString('base64');
  const blank = await page.context().newPage();
  const cells = await probe<number[]>(blank, 'coarse', picture, GRID.width, GRID.height);
  const record: Record<string, number[]> = existsSync(BASELINE) ? JSON.parse(readFileSync(BASELINE, 'utf8')) : {};
  if (process.env.UPDATE_LOOKS === '1') {
    writeFileSync(BASELINE, `${JSON.stringify({ ...record, [name]: cells })}\n`);
    return;
  }
  const known = record[name] ?? [];
  const off = cells.reduce((sum, cell, at) => sum + Math.abs(cell - (known[at] ?? 0)), 0) / cells.length;
  expect(off, `the page looks otherwise than recorded (${name})`).toBeLessThan(TOLERANCE);
}
