/** The cancel signal of a request of the far side. */
import { expect, test, vi } from 'vitest';
import { IncomingCall } from '../../src/wire/incoming-request.ts';

const call = () =>
  new IncomingCall({ jsonrpc: '2.0', id: 1, method: 'm' }, () => undefined, {
    origin: undefined,
    attribution: undefined,
  });

test('tells everybody who listens, once, with the reason', () => {
  const incoming = call();
  const heard = vi.fn();
  const gone = vi.fn();
  incoming.signal.addEventListener('abort', heard, { once: true });
  incoming.signal.addEventListener('abort', gone);
  incoming.signal.removeEventListener('abort', gone);
  expect(incoming.signal.aborted).toBe(false);
  incoming.signal.throwIfAborted();
  incoming.abort('no longer wanted');
  incoming.abort('again');
  expect(heard).toHaveBeenCalledTimes(1);
  expect(gone).not.toHaveBeenCalled();
  expect([incoming.signal.aborted, incoming.signal.reason]).toEqual([true, 'no longer wanted']);
  expect(() => incoming.signal.throwIfAborted()).toThrow('no longer wanted');
});
