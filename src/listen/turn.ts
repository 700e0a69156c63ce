/** One request of the modern era, whatever carries it: begun, or gone on with where its client was asked something first. */
import { canonical } from '../catalog/digest.ts';
import type { Tool } from '../catalog/list.ts';
import { RpcError, toRpcError } from '../errors.ts';
import { parseExact } from '../exact.ts';
import { isExtensionMethod } from '../front/extensions.ts';
import { isForClient, pagesIn } from '../front/pages.ts';
import { MODERN_VERSION, SERVER_META } from '../upstream/revisions.ts';
import { asksForInput, type Inputs, mayBeAsked } from '../upstream/rounds.ts';
import {
  INVALID_PARAMS,
  isId,
  isRecord,
  METHOD_NOT_FOUND,
  type Params,
  RESOURCE_NOT_FOUND,
  type RpcFailure,
  type RpcRequest,
} from '../wire/message.ts';
import { complete, type Envelope, introduce, type Refused, withoutEnvelope } from './envelope.ts';
import type { Session } from './gateway.ts';
import type { Origin, Outcome, Round, Rounds } from './rounds.ts';
import type { Seal } from './seal.ts';

/** What may be asked for; the rest of the legacy era is gone. */
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

/** Where a request came in. */
export interface Place extends Omit<Origin, 'words'> {
  /** The id of the HTTP request that brought it. */
  requestId?: string | undefined;
  /** What is wrong with how a call of this tool arrived. */
  refuses?(tool: Tool, args: unknown): Refused | undefined;
  /** A front for this request. */
  open(notify: (method: string, params?: Params) => void): Session;
}

export interface TurnDeps {
  rounds: Rounds;
  seal: Seal;
}

export interface Turn {
  round: Round;
  /** The answer, as soon as there is one. */
  answer(): Promise<{ result: unknown } | { error: RpcFailure }>;
}

/** Undefined for a method that this era has, or that an extension may have. */
export function unknownMethod({ method }: Pick<RpcRequest, 'method'>): Refused | undefined {
  return METHODS.has(method) || isExtensionMethod(method)
    ? undefined
    : { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` };
}

/** Begins a request, or goes on with it. */
export function takeTurn(
  request: RpcRequest,
  envelope: Envelope,
  place: Place,
  { rounds, seal }: TurnDeps,
): Turn | Refused {
  // To others, such as what goes on with a task, they are arguments like any.
  const { inputResponses, requestState } = mayBeAsked(request.method) ? (request.params ?? {}) : {};
  if (inputResponses !== undefined && !isRecord(inputResponses)) return invalid('"inputResponses" must be an object');
  if (requestState !== undefined && typeof requestState !== 'string') return invalid('"requestState" must be a string');
  const text = textOf(request);
  if (text === undefined) return invalid('the params are nested too deeply');
  const origin: Origin = {
    principal: place.principal,
    profile: place.profile,
    // Worked out when there is a question: most requests never meet one, and may be large.
    get words() {
      return wordsIn(text);
    },
  };
  const turn = (round: Round): Turn => ({
    round,
    answer: async () =>
      written(withPages(await round.outcome(), request, envelope), (state) => seal.close(state, origin)),
  });
  const held = requestState === undefined ? undefined : rounds.resume(requestState, origin, inputResponses);
  if (held !== undefined) return turn(held);
  const state = requestState === undefined ? undefined : seal.open(requestState, origin);
  if (requestState !== undefined && state === undefined) return invalid(EXPIRED);
  const round = rounds.begin(origin);
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

/** Everything that decides what a request does. Undefined where it is nested too deeply to be written. */
function textOf(request: RpcRequest): string | undefined {
  const { _meta: _, ...words } = withoutEnvelope(request);
  try {
    return JSON.stringify([request.method, words]);
  } catch {
    // The only reason that is left for what was just read from JSON.
    return undefined;
  }
}

/** Characters of words that are sorted; more would take long. */
const SORTED = 128 * 1024;

/** The same request with the same words may go on with a call, and nothing else may; in which order a client writes them is up to it. */
function wordsIn(text: string): string {
  if (text.length > SORTED) return text;
  try {
    return canonical(parseExact(text));
  } catch {
    // Sorting takes more room than writing: what is nearly too deep has to come in the same order.
    return text;
  }
}

interface Work {
  request: RpcRequest;
  envelope: Envelope;
  inputs: Inputs;
  round: Round;
}

/** One front per call, which lives as long as the call. */
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
        // Without a token nobody upstream need be asked for progress.
        ...(hasToken(params) && { progress: (progress: Params) => round.progress(progress) }),
        notify: (name, said) => round.hear(name, said),
        ask: (name, asked, options) => round.ask(name, asked, options),
        inputs,
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

/** Tasks are an extension in this era, if anything. */
function discovery({ capabilities: all, instructions }: Params): Params {
  const { tasks: _, ...capabilities } = isRecord(all) ? all : {};
  return { supportedVersions: [MODERN_VERSION], capabilities, ...(instructions !== undefined && { instructions }) };
}

/** Legacy servers refuse what needs a page to be opened first; in this era that is a question, and the next request is tried again. */
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
