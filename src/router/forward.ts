/** Sends a request other than a tool call to the one server that answers it: authorize, call, record. */

import { dispatch } from './dispatch.ts';
import { describe, reasonOf, unknownThing } from './failures.ts';
import { type Forward, permits } from './request-context.ts';
import { connectionTo, type RouterParts } from './tool-call.ts';

export async function forward(request: Forward, parts: RouterParts): Promise<unknown> {
  const { server, kind, name, method, params, meta, caller } = request;
  const { access, admission, calls, finder, views } = parts;
  // A server that has connected before gets the request even if its tools are not listed.
  if (views.entry(server)?.handshake === undefined) await finder.known(server);
  const call = { kind, server, name, method, request: request.requestId, arguments: params };
  if (!permits(access, request)) {
    calls.unreached(call, 'denied');
    throw unknownThing(kind, name);
  }
  const record = calls.begin(call);
  try {
    admission.enter(caller.holder, server);
  } catch (error) {
    record('refused', { reason: reasonOf(error) });
    throw error;
  }
  try {
    const whole = meta === undefined ? params : { ...params, _meta: meta };
    const isKnown = kind === 'prompt' || kind === 'resource';
    const via = request.via ?? connectionTo(server, request, parts);
    request.routed?.(via);
    const result = await dispatch(via, method, whole, request, { transparent: !isKnown, repeatable: isKnown });
    record('ok', { result });
    return result;
  } catch (error) {
    record('failed', { reason: reasonOf(error) });
    throw describe(error, server, name);
  } finally {
    admission.leave(caller.holder, server);
  }
}
