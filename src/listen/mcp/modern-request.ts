/** Serves one request of the modern era over any transport: begins it, or continues it with the client's input. */
import { randomUUID } from 'node:crypto';
import type { Tool } from '../../catalog/listing.ts';
import { canonical } from '../../catalog/pins/digest.ts';
import { RpcError, toRpcError } from '../../errors.ts';
import { isExtensionMethod } from '../../front/extensions.ts';
import { isForClient, pagesIn } from '../../front/url-elicitation.ts';
import { parseLossless } from '../../lossless-json.ts';
import { complete, type Envelope, withoutEnvelope } from '../../mcp/envelope.ts';
import { RESOURCE_NOT_FOUND } from '../../mcp/error-codes.ts';
import { mayBeAsked } from '../../mcp/methods.ts';
import { asksForInput, type Inputs } from '../../mcp/multi-round-trip.ts';
import type { Refused } from '../../mcp/param-headers.ts';
import { MODERN_VERSION, SERVER_META } from '../../mcp/protocol-versions.ts';
import {
  INVALID_PARAMS,
  isId,
  isRecord,
  METHOD_NOT_FOUND,
  type Params,
  type RpcFailure,
  type RpcRequest,
} from '../../wire/message.ts';
import type { Session } from '../app-api.ts';
import type { HeldCall, HeldCalls, Origin, Outcome } from './held-calls.ts';
import { introduce } from './introduce-client.ts';
import type { RequestStateCodec } from './request-state.ts';

/** Methods of the modern era. */
const METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'subscriptions/listen',
]);

/** The context in which a request arrived. */
export interface Place extends Omit<Origin, 'words'> {
  /** The id of the HTTP request that carried it. */
  requestId?: string | undefined;
  /** Returns the reason to reject a call of this tool because of its headers. */
  refuses?(tool: Tool, args: unknown): Refused | undefined;
  /** Opens a front for this request. */
  open(notify: (method: string, params?: Params) => void): Session;
}

export interface ModernRequestDeps {
  heldCalls: HeldCalls;
  stateCodec: RequestStateCodec;
}

export interface ModernRequest {
  round: HeldCall;
  /** Resolves with the response. */
  answer(): Promise<{ result: unknown } | { error: RpcFailure }>;
}

/** Returns an error unless the method belongs to this era or may belong to an extension. */
export function unknownMethod({ method }: Pick<RpcRequest, 'method'>): Refused | undefined {
  return METHODS.has(method) || isExtensionMethod(method)
    ? undefined
    : { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` };
}

/** Begins a request, or continues it. */
export function serveModernRequest(
  request: RpcRequest,
  envelope: Envelope,
  place: Place,
  { heldCalls, stateCodec }: ModernRequestDeps,
): ModernRequest | Refused {
  // For other methods, such as `tasks/update`, these are ordinary params.
  const { inputResponses, requestState } = mayBeAsked(request.method) ? (request.params ?? {}) : {};
  if (inputResponses !== undefined && !isRecord(inputResponses)) return invalid('"inputResponses" must be an object');
  if (requestState !== undefined && typeof requestState !== 'string') return invalid('"requestState" must be a string');
  const text = textOf(request);
  if (text === undefined) return invalid('the params are nested too deeply');
  const origin: Origin = {
    principal: place.principal,
    profile: place.profile,
    // Computed on demand: most requests ask for no input, and their params may be large.
    get words() {
      return wordsIn(text);
    },
  };
  const turn = (round: HeldCall): ModernRequest => ({
    round,
    answer: async () =>
      written(withPages(await round.outcome(), request, envelope), (state) => stateCodec.close(state, origin)),
  });
  const held = requestState === undefined ? undefined : heldCalls.resume(requestState, origin, inputResponses);
  if (held !== undefined) return turn(held);
  const state = requestState === undefined ? undefined : stateCodec.open(requestState, origin);
  if (requestState !== undefined && state === undefined) return invalid(EXPIRED);
  const round = heldCalls.begin(origin);
  const inputs: Inputs = {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(state !== undefined && { requestState: state }),
  };
  round.run(() => work({ request, envelope, inputs, round }, place));
  return turn(round);
}

const EXPIRED = '"requestState" is unknown or has expired: send the request without it';

function invalid(message: string): Refused {
  return { code: INVALID_PARAMS, message };
}

/** Returns the method and the params that affect the request as JSON; undefined if they are nested too deeply. */
function textOf(request: RpcRequest): string | undefined {
  const { _meta: _, ...words } = withoutEnvelope(request);
  try {
    return JSON.stringify([request.method, words]);
  } catch {
    // The value was parsed from JSON, so its depth is the only possible reason.
    return undefined;
  }
}

/** Maximum number of characters of params that are sorted; sorting more would take too long. */
const SORTED = 128 * 1024;

/**
 * Returns a text that is equal for equal requests, in any order of their keys. Only an equal request may continue a
 * call.
 */
function wordsIn(text: string): string {
  if (text.length > SORTED) return text;
  try {
    return canonical(parseLossless(text));
  } catch {
    // Sorting needs a deeper stack than serializing; params at that depth must be repeated in the same order.
    return text;
  }
}

interface Work {
  request: RpcRequest;
  envelope: Envelope;
  inputs: Inputs;
  round: HeldCall;
}

/** Runs the request in a front that is closed with it. */
async function work({ request, envelope, inputs, round }: Work, place: Place): Promise<Params> {
  const opened = place.open((method, params) => round.hear(method, params));
  try {
    const hello = await introduce(opened, envelope, round.signal);
    const serverInfo = { [SERVER_META]: hello.serverInfo };
    const { method, params = {} } = request;
    if (method === 'server/discover') return complete(method, discovery(hello), serverInfo);
    const tool = method === 'tools/call' ? opened.front.tool?.(String(params.name)) : undefined;
    const refused = tool && place.refuses?.(tool, params.arguments);
    if (refused) throw new RpcError(refused.code, refused.message);
    const result = await opened.front.request(
      { method, params: withoutEnvelope(request) },
      {
        signal: round.signal,
        requestId: place.requestId,
        // Without a progress token, the server is not asked for progress.
        ...(hasToken(params) && { progress: (progress: Params) => round.progress(progress) }),
        notify: (name, said) => round.hear(name, said),
        ask: (name, asked, options) => round.ask(name, asked, options),
        inputs,
        conversation: randomUUID(),
      },
    );
    return complete(method, isRecord(result) ? result : {}, serverInfo);
  } finally {
    opened.close();
  }
}

function hasToken({ _meta }: Params): boolean {
  return isRecord(_meta) && isId(_meta.progressToken);
}

/** Returns the result of `server/discover`. Tasks are an extension in this era. */
function discovery({ capabilities: all, instructions }: Params): Params {
  const { tasks: _, ...capabilities } = isRecord(all) ? all : {};
  return { supportedVersions: [MODERN_VERSION], capabilities, ...(instructions !== undefined && { instructions }) };
}

/**
 * Converts the error of a legacy server that needs a URL to be opened into an `input_required` result; the client's
 * next request retries the call.
 */
function withPages(outcome: Outcome, { method, params = {} }: RpcRequest, envelope: Envelope): Outcome {
  if (!('error' in outcome) || !mayBeAsked(method) || !isForClient(outcome.error, envelope)) return outcome;
  const answers = isRecord(params.inputResponses) ? params.inputResponses : {};
  const pages = pagesIn(outcome.error)
    .filter(isRecord)
    .map((page, index): [string, Params] => [`page${index + 1}`, page]);
  const isDeclined = ([key]: [string, Params]) => isRecord(answers[key]) && answers[key].action !== 'accept';
  if (pages.length === 0 || pages.some(isDeclined)) return outcome;
  const questions = pages.map(([key, page]) => [
    key,
    { method: 'elicitation/create', params: { mode: 'url', ...page } },
  ]);
  return { result: { resultType: 'input_required', inputRequests: Object.fromEntries(questions) } };
}

function written(outcome: Outcome, close: (state: string) => string): { result: unknown } | { error: RpcFailure } {
  if ('questions' in outcome) {
    const { questions, state } = outcome;
    return { result: { resultType: 'input_required', inputRequests: questions, requestState: state } };
  }
  if ('error' in outcome) {
    const error = toRpcError(outcome.error);
    return { error: error.code === RESOURCE_NOT_FOUND ? { ...error, code: INVALID_PARAMS } : error };
  }
  const { result } = outcome;
  if (!asksForInput(result) || typeof result.requestState !== 'string') return { result };
  return { result: { ...result, requestState: close(result.requestState) } };
}
