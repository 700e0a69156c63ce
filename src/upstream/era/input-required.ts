/** Handles `input_required` results of the modern era: gets the input from the client and sends the request again with it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { toAbortSignal } from '../../cancel-signal.ts';
import { McpxError, messageOf } from '../../errors.ts';
import { envelopeOf } from '../../mcp/envelope.ts';
import { mayBeAsked } from '../../mcp/methods.ts';
import { asksForInput, type InputRequired, type Inputs } from '../../mcp/multi-round-trip.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import type { CallOptions, SendRequest } from '../call-options.ts';
import { introductionOf } from '../sharing/sharing.ts';

/** The maximum number of rounds; a server that still requests input then is considered endless. */
const MAX_ROUNDS = 50;
/** Milliseconds before a request is sent again whose result has a state but no input requests; doubled each time. */
const PAUSE = 50;
const LONGEST_PAUSE = 5000;

/** Returns the params of a modern request with the client's `_meta` fields and the input responses so far. */
export function withEnvelope(
  params: Params | undefined,
  { client, inputs, transparent }: CallOptions,
): Params | undefined {
  if (client === undefined) return params;
  const { capabilities: asked, clientInfo } = introductionOf('session', client);
  const { extensions, experimental } = client.capabilities;
  const capabilities = {
    ...asked,
    ...(transparent && extensions !== undefined && { extensions }),
    ...(transparent && experimental !== undefined && { experimental }),
  };
  const { logLevel } = client;
  const meta = isRecord(params?._meta) ? params._meta : {};
  const own = envelopeOf({ capabilities, clientInfo, ...(logLevel !== undefined && { logLevel }) });
  return { ...params, ...inputs, _meta: { ...meta, ...own } };
}

/** Resolves an `input_required` result into the final result. */
export type InputLoop = (asking: InputRequired, ...request: Parameters<SendRequest>) => Promise<unknown>;

/**
 * Sends the request again until the result is final. A caller with `inputs` gets the `input_required` result itself;
 * for other callers their client is asked.
 */
export function answerInputRequests(
  ask: SendRequest,
  { server, isModern }: { server: string; isModern(): boolean },
): InputLoop {
  return async (asking, method, params, wanted) => {
    let result: unknown = asking;
    for (let round = 0; asksForInput(result) && isModern(); round++) {
      if (!mayBeAsked(method)) throw outOfPlace(server, method);
      if (wanted.inputs !== undefined) return result;
      if (round === MAX_ROUNDS) throw endless(server, method);
      const inputs = await answered(result, { server, round, wanted });
      result = await ask(method, params, { ...wanted, inputs });
    }
    return result;
  };
}

interface Asking {
  server: string;
  round: number;
  wanted: CallOptions;
}

async function answered({ inputRequests, requestState }: InputRequired, asking: Asking): Promise<Inputs> {
  const questions = isRecord(inputRequests) ? Object.entries(inputRequests) : [];
  const state = typeof requestState === 'string' ? { requestState } : {};
  if (questions.length === 0) {
    const { signal } = asking.wanted;
    await delay(Math.min(PAUSE * 2 ** asking.round, LONGEST_PAUSE), undefined, {
      ...(signal && { signal: toAbortSignal(signal) }),
    });
    return state;
  }
  // The questions are sent one after the other because the user answers them.
  const answers: [string, unknown][] = [];
  for (const [key, question] of questions) answers.push([key, await answer(key, question, asking)]);
  return { inputResponses: Object.fromEntries(answers), ...state };
}

async function answer(key: string, question: unknown, { server, wanted }: Asking): Promise<unknown> {
  const { method, params } = isRecord(question) ? question : {};
  if (typeof method !== 'string') {
    throw new McpxError('protocol', `server "${server}" asks "${key}" in the middle of a call, which is no request`);
  }
  if (wanted.onServerRequest === undefined) throw unanswered(server, key, 'the client cannot be asked');
  const request = { jsonrpc: '2.0' as const, id: key, method, ...(isRecord(params) && { params: withPageId(params) }) };
  const signal = wanted.signal ?? new AbortController().signal;
  return wanted.onServerRequest(request, { signal }).catch((error: unknown) => {
    if (error instanceof McpxError && error.code === 'cancelled') throw error;
    throw unanswered(server, key, messageOf(error), error);
  });
}

/** Adds an `elicitationId` to a URL elicitation: clients of the legacy era require it. */
function withPageId(params: Params): Params {
  return params.mode === 'url' && params.elicitationId === undefined
    ? { ...params, elicitationId: randomUUID() }
    : params;
}

function unanswered(server: string, key: string, why: string, cause?: unknown): McpxError {
  return new McpxError(
    'failed',
    `server "${server}" asks "${key}" in the middle of a call, and gets no answer: ${why}`,
    {
      cause,
    },
  );
}

function outOfPlace(server: string, method: string): McpxError {
  return new McpxError('protocol', `server "${server}" answers "${method}" with questions, which must have an answer`);
}

function endless(server: string, method: string): McpxError {
  return new McpxError('failed', `server "${server}" still asks for input after ${MAX_ROUNDS} rounds of "${method}"`);
}
