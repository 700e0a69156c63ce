/** Where to listen, as typed. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readListen } from '../../src/cli/address.ts';
import { runCli } from '../../src/cli/cli.ts';
import { captureOutput } from '../setup/output.ts';
import { typedFlags } from '../setup/typed-flags.ts';
import { PATIENCE } from '../setup/until.ts';

const shown = captureOutput();

describe('an address', () => {
  test.each([
    [[], { http: false }],
    [['--http'], { http: true }],
    [['--http', '[::1]:8080'], { http: true, host: '::1', port: '8080' }],
    [['--http', ':8080'], { http: true, port: '8080' }],
    [['--port', '8081'], { http: true, port: '8081' }],
    [['--http', '127.0.0.1:8080', '--port', '8081'], { http: true, host: '127.0.0.1', port: '8081' }],
    [['--http', '127.0.0.1:8080', '--host', '::1'], { http: true, host: '::1', port: '8080' }],
    [['--http', 'my.json', '--port', '8081'], { http: true, port: '8081', file: 'my.json' }],
  ])('%j', (words, listen) => {
    expect(readListen(typedFlags('serve', ...words))).toEqual(listen);
  });
});

test.each(['8080x', '80 80', '8080x:1', 'localhost:80x'])('%j is no address, and that is said', (address) => {
  expect(() => readListen(typedFlags('serve', '--http', address))).toThrow(`"${address}" is not an address`);
});

test('what is said of a taken port helps, however the port was given', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const stop = new AbortController();
  const serve = (...words: string[]) =>
    runCli({
      words: ['serve', '--demo', '--http', `127.0.0.1:${port}`, ...words],
      stdinIsTerminal: true,
      stop: stop.signal,
      atExit: () => undefined,
    });
  expect(await serve()).toBe(1);
  expect(shown.stderr).toContain('--port 0 to take any free one');
  const ended = serve('--port', '0');
  await vi.waitFor(() => expect(shown.stderr).toContain('listening on http://127.0.0.1:'), { timeout: PATIENCE });
  stop.abort();
  expect(await ended).toBe(0);
});
