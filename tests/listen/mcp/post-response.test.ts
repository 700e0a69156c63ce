/** The answers to one POST, without a socket. */
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { Answer } from '../../../src/listen/mcp/post-response.ts';
import { EventStream } from '../../../src/listen/mcp/sse-stream.ts';
import { RawResult } from '../../../src/wire/raw-result.ts';

function collect(batch: boolean, pending: number) {
  let sent = '';
  const response = {
    writeHead: () => undefined,
    end: (text: string) => {
      sent = text;
    },
    writableLength: 0,
    shouldKeepAlive: true,
  } as unknown as ServerResponse;
  const answer = new Answer({ response, accepts: { json: true, events: false }, pending, batch });
  const give = (id: number, mb: number) => answer.give({ jsonrpc: '2.0', id, result: 'x'.repeat(mb * 1024 * 1024) });
  return { give, sent: () => JSON.parse(sent) };
}

test('of a batch that are too large together are errors where they do not fit, and the others come', () => {
  const { give, sent } = collect(true, 4);
  for (const [index, mb] of [30, 30, 30, 1].entries()) give(index, mb);
  const answers: any[] = sent();
  expect(answers.map(({ id, result, error }) => [id, result?.length ?? error])).toEqual([
    [0, 30 * 1024 * 1024],
    [1, 30 * 1024 * 1024],
    [2, { code: -32000, message: expect.stringContaining('send this request alone') }],
    [3, 1024 * 1024],
  ]);
});

test('that stand alone are as large as they are', () => {
  const { give, sent } = collect(false, 1);
  give(7, 70);
  expect(sent().result).toHaveLength(70 * 1024 * 1024);
});

test('that are large are on an event stream the very bytes that are kept for a client that resumes', () => {
  const taken: unknown[] = [];
  const open = () => {
    const response = new PassThrough();
    response.write = ((part: unknown) => taken.push(part) > 0) as typeof response.write;
    return Object.assign(response, { writeHead: () => undefined }) as unknown as ServerResponse;
  };
  const stream = new EventStream({ name: 's' });
  const streams = { open: () => stream, finished: () => undefined };
  const accepts = { json: false, events: true };
  const answer = new Answer({ response: open(), accepts, pending: 1, batch: false, streams });
  const json = JSON.stringify({ content: [{ type: 'text', text: 'ä'.repeat(300_000) }] });
  answer.give({ jsonrpc: '2.0', id: 1, result: new RawResult([Buffer.from(json)]) });
  stream.attach(open(), { after: 0 });
  const [first, again] = taken.filter((part) => Buffer.isBuffer(part));
  expect(first?.toString()).toBe(`id: s-1\ndata: {"jsonrpc":"2.0","id":1,"result":${json}}\n\n`);
  expect(again).toBe(first);
});
