/** One set of capabilities on connections that serve all. */
import { expect, test } from 'vitest';
import { McpxError } from '../../../src/errors.ts';
import type { Connection } from '../../../src/upstream/connection-interface.ts';
import { statelessView } from '../../../src/upstream/sharing/stateless.ts';
import { undelivered } from '../../../src/wire/undelivered.ts';

const client = { key: 'a', capabilities: {} };

/** A view whose connection becomes another one while the first request waits, and what was sent where. */
function stage(fails: () => Error) {
  const sent: string[] = [];
  let base: Connection;
  const connection = (name: string, request: () => Promise<unknown>) =>
    ({
      name,
      request(method: string) {
        sent.push(`${name} ${method}`);
        return request();
      },
    }) as unknown as Connection;
  const second = connection('second', async () => 'answer');
  base = connection('first', async () => {
    base = second;
    throw fails();
  });
  return { sent, view: statelessView({ base: () => base, offered: '', client }) };
}

test('what was not sent is sent to the connection that took the place of the first', async () => {
  const { sent, view } = stage(() => undelivered('not sent'));
  expect(await view.request('tools/call', {})).toBe('answer');
  expect(sent).toEqual(['first tools/call', 'second tools/call']);
});

test('what may have run is not sent again', async () => {
  const { sent, view } = stage(() => new McpxError('unreachable', 'broke off'));
  await expect(view.request('tools/call', {})).rejects.toThrow('broke off');
  expect(sent).toEqual(['first tools/call']);
});
