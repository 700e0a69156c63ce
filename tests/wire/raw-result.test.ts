/** Large answers on their way through: as bytes for who asked for that, read in full for everybody else. */
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import type { Message } from '../../src/wire/message.ts';
import { createPeer, type Receiver, type RequestOptions } from '../../src/wire/peer.ts';
import { LARGE, RawResult, release } from '../../src/wire/raw-result.ts';
import { createStreamChannel } from '../../src/wire/stream.ts';

const TEXT = 'a "line" of text, 中文 too\n'.repeat(20_000);

/** The answer of a far side that answers every request with this result, in chunks as a pipe has them. */
async function answered(result: unknown, options: RequestOptions): Promise<unknown> {
  const input = new PassThrough();
  const output = new PassThrough();
  const peer = createPeer(createStreamChannel({ input, output }));
  output.on('data', (line: Buffer) => {
    const { id } = JSON.parse(line.toString());
    const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
    for (let at = 0; at < bytes.length; at += 65_536) input.write(Buffer.from(bytes.subarray(at, at + 65_536)));
  });
  try {
    return await peer.request('tools/call', {}, options);
  } finally {
    await peer.close();
  }
}

/** Returns the bytes that a channel writes for a response. */
async function written(result: unknown, framing: 'newline' | 'content-length'): Promise<string> {
  const output = new PassThrough();
  const chunks: Buffer[] = [];
  output.on('data', (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
  const channel = createStreamChannel({ input: new PassThrough(), output, framing });
  channel.start({ message: () => undefined, invalid: () => undefined, closed: () => undefined });
  channel.send({ jsonrpc: '2.0', method: 'notifications/before' });
  channel.send({ jsonrpc: '2.0', id: 'me', result });
  channel.send({ jsonrpc: '2.0', method: 'notifications/after' });
  await channel.end();
  return Buffer.concat(chunks).toString();
}

describe('a large result', () => {
  const result = { content: [{ type: 'text', text: TEXT }], structuredContent: { n: 1 } };

  it('is handed over in bytes where that is wanted', async () => {
    expect(TEXT.length).toBeGreaterThan(LARGE);
    const bytes = await answered(result, { verbatim: 'large' });
    expect(bytes).toBeInstanceOf(RawResult);
    expect(JSON.parse(JSON.stringify(bytes))).toEqual(result);
  });

  it('is read where it is not, and where somebody has to know what it says', async () => {
    expect(await answered(result, {})).toEqual(result);
    const failed = { ...result, isError: true };
    expect(await answered(failed, { verbatim: 'large' })).toEqual(failed);
    const linked = { content: [...result.content, { type: 'resource_link', uri: 'file:///a', name: 'a' }] };
    expect(await answered(linked, { verbatim: 'large' })).toEqual(linked);
  });

  it('is read where it is small', async () => {
    expect(await answered({ content: [] }, { verbatim: 'large' })).toEqual({ content: [] });
  });

  it('is written between what comes before and after it, under the id of its reader', async () => {
    const bytes = await answered(result, { verbatim: 'large' });
    const lines = (await written(bytes, 'newline')).split('\n');
    expect(lines.map((line) => line && JSON.parse(line))).toEqual([
      { jsonrpc: '2.0', method: 'notifications/before' },
      { jsonrpc: '2.0', id: 'me', result },
      { jsonrpc: '2.0', method: 'notifications/after' },
      '',
    ]);
  });

  it('is written in a frame of its length', async () => {
    const text = Buffer.from(await written(await answered(result, { verbatim: 'large' }), 'content-length'));
    const frames: unknown[] = [];
    for (let rest = text; rest.length > 0; ) {
      const head = /^Content-Length: (\d+)\r\n\r\n/.exec(rest.toString('latin1', 0, 64));
      const from = head?.[0].length ?? Number.NaN;
      frames.push(JSON.parse(rest.subarray(from, from + Number(head?.[1])).toString()));
      rest = rest.subarray(from + Number(head?.[1]));
    }
    expect(frames[1]).toEqual({ jsonrpc: '2.0', id: 'me', result });
    expect(frames).toHaveLength(3);
  });
});

describe('memory that is given back', () => {
  it('is that of a result that cannot be sent, whose reader is told so', async () => {
    const piece = Buffer.from(new ArrayBuffer(100));
    const sent: Message[] = [];
    let receiver: Receiver | undefined;
    const send = (message: Message) => {
      if ('result' in message) throw new Error('the client does not read');
      sent.push(message);
    };
    const start = (to: Receiver) => {
      receiver = to;
    };
    createPeer({ start, send, close: async () => undefined }, { request: async () => new RawResult([piece]) });
    receiver?.message({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
    await vi.waitFor(() => expect(sent).toMatchObject([{ id: 1, error: { message: 'the client does not read' } }]));
    expect(piece.length).toBe('transfer' in ArrayBuffer.prototype ? 0 : 100);
  });

  it('is that of whole pieces only, where Node can do that', () => {
    const whole = Buffer.from(new ArrayBuffer(100));
    const larger = Buffer.from(new ArrayBuffer(100));
    const part = larger.subarray(10, 20);
    release(['text', whole, part]);
    const left = 'transfer' in ArrayBuffer.prototype ? 0 : 100;
    expect([whole.length, part.length, larger.length]).toEqual([left, 10, 100]);
  });
});
