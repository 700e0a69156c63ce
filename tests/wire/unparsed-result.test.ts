/** Messages that would take too much memory when parsed, or that are nested too deeply. */
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { decode } from '../../src/wire/framing.ts';
import { createPeer, type RequestOptions } from '../../src/wire/peer.ts';
import { RawResult } from '../../src/wire/raw-result.ts';
import { createStreamChannel } from '../../src/wire/stream.ts';
import { Unparsed } from '../../src/wire/unparsed-result.ts';

const MANY = `[${'[],'.repeat(1_000_000)}[]]`;
const DEEP = '['.repeat(200_000) + ']'.repeat(200_000);

/** The outcome of a request whose result is this text. */
async function answered(result: string, options: RequestOptions): Promise<unknown> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const peer = createPeer(createStreamChannel({ input, output, subject: 'server "s"' }), { subject: 'server "s"' });
  output.on('data', (line: Buffer) => {
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.parse(line.toString()).id},"result":${result}}\n`);
    for (let at = 0; at < bytes.length; at += 65_536) input.write(Buffer.from(bytes.subarray(at, at + 65_536)));
  });
  try {
    return await peer.request('tools/call', {}, options);
  } finally {
    await peer.close();
  }
}

describe('an answer with too many values', () => {
  const result = `{"content":[],"_meta":{"v":${MANY}}}`;

  test('is passed on as it is to who only passes it on, whatever it tells of', async () => {
    const passed = await answered(result, { verbatim: 'large' });
    expect(passed).toBeInstanceOf(RawResult);
    expect((passed as RawResult).text()).toBe(result);
  });

  test('stays text for who can do with that', async () => {
    expect(await answered(result, { verbatim: 'costly' })).toEqual(new Unparsed(result));
  });

  test('is a failure in words for everybody else, and for who passes on what is no JSON', async () => {
    const why = 'server "s" sent an answer that holds too many values, or is nested too deeply, to be read';
    await expect(answered(result, {})).rejects.toThrow(why);
    await expect(answered(`{"v":${MANY},}`, { verbatim: 'large' })).rejects.toThrow(why);
    await expect(answered(`{"v":${DEEP}}`, { verbatim: 'large' })).rejects.toThrow(why);
  });

  test('is told by its id where it is an error or no object, so that nobody waits for it', async () => {
    await expect(answered(MANY, { verbatim: 'costly' })).rejects.toThrow('a message holds too many values');
    const [{ invalid } = {}] = decode(`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x","data":${MANY}}}`);
    expect(invalid).toMatchObject({
      id: 7,
      answer: true,
      reason: 'a message holds too many values to be read at once',
    });
  });
});

test.each([
  ['too many values', MANY, 'a message holds too many values to be read at once'],
  ['too many levels', DEEP, 'a message is nested deeper than 512 levels'],
])('a request with %s is refused under its id', (_what, value, reason) => {
  expect(decode(`{"jsonrpc":"2.0","id":"me","method":"tools/call","params":{"v":${value}}}`)).toEqual([
    { invalid: { code: -32600, id: 'me', reason } },
  ]);
});
