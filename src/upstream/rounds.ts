/** Requests of the modern era that are answered with questions: who is asked for the answers, and the request sent again with them. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { McpxError, messageOf } from '../errors.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Ask } from './ask.ts';
import type { CallOptions } from './connection.ts';
import { envelopeOf } from './modern.ts';
import { introductionOf } from './sharing.ts';

/** What a client sends with a request that was answered with questions; an object of its own for each request. */
export interface Inputs {
  inputResponses?: unknown;
  requestState?: string;
}

/** A result that asks for something first. */
export interface InputRequired extends Params {
  resultType: 'input_required';
}

export function asksForInput(result: unknown): result is InputRequired {
  return isRecord(result) && result.resultType === 'input_required';
}

/** The requests that may be answered with questions. */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Whether a request may be answered with questions, and so carry the answers to them. */
export function mayBeAsked(method: string): boolean {
  return MAY_ASK.has(method);
}

/** A server that still asks after so many rounds never stops. */
const MAX_ROUNDS = 50;
/** ms before a request is sent again that was answered with a state and no question; doubled each time. */
const PAUSE = 50;
const LONGEST_PAUSE = 5000;

/** The params as a modern request has them: on whose behalf, and with what was answered so far. */
export function dress(params: Params | undefined, { client, inputs, transparent }: CallOptions): Params | undefined {
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

/** What comes of a result that asks for input. */
export type Rounds = (asking: InputRequired, ...request: Parameters<Ask>) => Promise<unknown>;

/** Asks until there is a result. Whoever brings `inputs` takes questions as the result; everybody else is asked them. */
export function inRounds(ask: Ask, { server, isModern }: { server: string; isModern(): boolean }): Rounds {
  return async (asking, method, params, wanted) => {
    let result: unknown = asking;
    for (let round = 0; asksForInput(result) && isModern(); round++) {
      if (!MAY_ASK.has(method)) throw outOfPlace(server, method);
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
    await delay(Math.min(PAUSE * 2 ** asking.round, LONGEST_PAUSE), undefined, {
      ...(asking.wanted.signal && { signal: asking.wanted.signal }),
    });
    return state;
  }
  // One after the other: people answer them.
  const answers: [string, unknown][] = [];
  for (const [key, question] of questions) answers.push([key, await answer(key, question, asking)]);
  return { inputResponses: Object.fromEntries(answers), ...state };
}

async function answer(key: string, question: unknown, { server, wanted }: Asking): Promise<unknown> {
  const { method, params } = isRecord(question) ? question : {};
  if (typeof method !== 'string') {
    throw new McpxError('protocol', `server "${server}" asks "${key}" in the middle of a call, which is no request`);
  }
  if (wanted.asked === undefined) throw unanswered(server, key, 'nobody can be asked');
  const request = { jsonrpc: '2.0' as const, id: key, method, ...(isRecord(params) && { params: withPageId(params) }) };
  const signal = wanted.signal ?? new AbortController().signal;
  return wanted.asked(request, { signal }).catch((error: unknown) => {
    if (error instanceof McpxError && error.code === 'cancelled') throw error;
    throw unanswered(server, key, messageOf(error), error);
  });
}

/** A page has an id in the other era, whose clients insist on it. */
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
