/** The consent page in real Chromium: languages, wrong and right secrets, other sites that frame or chain it, hostile names. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { register, requestOf } from '../listen/authorization-server/browser.ts';
import { CHROMIUM, launch, listen, open, PASSWORD, startGateway } from './oauth-world.ts';

let browser: Browser;

/** A gateway, a client on loopback, and the address of the consent page. */
async function asked(client: { name?: string; redirect?: string; scope?: string } = {}) {
  const { url } = await startGateway();
  const redirect = client.redirect ?? `${await listen((_, response) => response.end('<p>the client'))}/callback`;
  const id = await register(url, { client_name: client.name ?? 'My client', redirect_uris: [redirect] });
  const more = { redirect_uri: redirect, scope: client.scope ?? 'a' };
  return { url, redirect, page: requestOf(url, id, more).url.href };
}

describe.skipIf(CHROMIUM === undefined)('the consent page in Chromium', () => {
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  test('names the client, the host and the profile; a wrong password is told, the right one leads to the client', async () => {
    const { url, redirect, page: address } = await asked();
    const { page, complaints, asked: loaded } = await open(browser, address);
    expect(await page.title()).toBe('Allow access to your MCP servers? · mcpx');
    const text = (await page.textContent('main')) ?? '';
    for (const part of ['My client asks for access', 'nobody has checked it', new URL(redirect).host])
      expect(text).toContain(part);
    expect(await page.locator('dd').allTextContents()).toEqual([new URL(redirect).host, 'a']);
    await page.getByLabel('Token or password').fill('a wrong password');
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('alert').getByText('neither a token nor the password').waitFor();
    expect(await page.getByLabel('Token or password').inputValue()).toBe('');
    await page.getByLabel('Token or password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('the client').waitFor();
    expect(page.url()).toMatch(/\/callback\?code=mcpx_code_[\w-]{43}&state=the\+state&iss=/);
    expect(complaints.filter((line) => !line.includes('403'))).toEqual([]);
    expect(loaded.filter((one) => ![url, new URL(redirect).origin].includes(new URL(one).origin))).toEqual([]);
  });

  test('is in Chinese for a Chinese browser, and a denial leads back too', async () => {
    const { page: address } = await asked();
    const { page } = await open(browser, address, { locale: 'zh-CN' });
    expect(await page.locator('html').getAttribute('lang')).toBe('zh');
    await page.getByLabel('令牌或密码').waitFor();
    await page.getByRole('button', { name: '拒绝' }).click();
    await page.getByText('the client').waitFor();
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
  });

  test('leads to a client whose own page redirects to another host', async () => {
    const last = await listen((_, response) => response.end('<p>the last page'));
    const first = await listen((_, response) => response.writeHead(302, { location: last }).end());
    const { page: address } = await asked({ redirect: `${first}/callback` });
    const { page, complaints } = await open(browser, address);
    await page.getByLabel('Token or password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('the last page').waitFor();
    expect(complaints).toEqual([]);
  });

  test('offers a link to a program with a scheme of its own', async () => {
    const { page: address } = await asked({ redirect: 'my-editor://oauth/callback' });
    const { page } = await open(browser, address);
    await page.getByLabel('Token or password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Allow' }).click();
    const link = page.getByRole('link', { name: 'Continue' });
    expect(await link.getAttribute('href')).toMatch(/^my-editor:\/\/oauth\/callback\?code=mcpx_code_/);
  });

  test('cannot be framed, and its form cannot be sent by another site', async () => {
    const { url, page: address } = await asked();
    const html = `<iframe src="${address.replaceAll('&', '&amp;')}"></iframe>
      <form method="post" action="${url}/authorize"><input name="decision" value="allow"><input name="secret" value="${PASSWORD}">
      <button>Send</button></form>`;
    const evil = await listen((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html));
    const { page, complaints } = await open(browser, evil);
    await expect.poll(() => complaints.join()).toMatch(/frame-ancestors|X-Frame-Options/);
    const [, sent] = await Promise.all([
      page.getByRole('button', { name: 'Send' }).click(),
      page.waitForResponse(
        (response) => response.url() === `${url}/authorize` && response.request().method() === 'POST',
      ),
    ]);
    expect(sent.status()).toBe(403);
  });

  test('a window that a web client has opened still knows its opener at the end', async () => {
    const back = await listen((_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<script>opener.document.title = "signed in"</script>'),
    );
    const { page: address } = await asked({ redirect: `${back}/callback` });
    const { page } = await open(browser, back.replace('/callback', ''));
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate(`void window.open(${JSON.stringify(address)})`),
    ]);
    await popup.getByLabel('Token or password').fill(PASSWORD);
    await popup.getByRole('button', { name: 'Allow' }).click();
    await expect.poll(() => page.title()).toBe('signed in');
  });

  test('runs nothing of a hostile name and hostile scopes', async () => {
    const name = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const { page: address } = await asked({ name, scope: "<svg/onload='document.title=3'>" });
    const { page, complaints } = await open(browser, address);
    expect(await page.textContent('main')).toContain('<img src=x onerror=');
    expect(await page.title()).toBe('Allow access to your MCP servers? · mcpx');
    expect(await page.locator('img, svg, script').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
