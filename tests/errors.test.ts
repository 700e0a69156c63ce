/** Failures as JSON-RPC errors: what mcpx says comes with its hint, what a server says comes as it is. */
import { expect, test } from 'vitest';
import { McpxError, RpcError, toRpcError, withRequestId } from '../src/errors.ts';

test.each<[what: string, error: unknown, data: unknown]>([
  ['a hint alone', new McpxError('overloaded', 'm', { hint: 'h' }), { hint: 'h' }],
  [
    'a hint beside facts',
    new McpxError('not_found', 'm', { hint: 'h', data: { nearest: [] } }),
    { nearest: [], hint: 'h' },
  ],
  ['facts without names', new McpxError('failed', 'm', { hint: 'h', data: [1] }), [1]],
  ['nothing', new McpxError('failed', 'm'), undefined],
  ['the words of a server', new RpcError(-32042, 'm', { why: 1 }), { why: 1 }],
  [
    'the id of its request',
    withRequestId(new McpxError('failed', 'm', { hint: 'h' }), 'r'),
    { requestId: 'r', hint: 'h' },
  ],
])('%s', (_, error, data) => {
  expect(toRpcError(error)).toMatchObject({ code: expect.any(Number), message: 'm' });
  expect(toRpcError(error).data).toEqual(data);
});
