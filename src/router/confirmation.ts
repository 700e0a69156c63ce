/** `policy.confirm`: asks the user before a tool runs that is not declared read-only. */
import type { CancelSignal } from '../cancel-signal.ts';
import type { Tool } from '../catalog/listing.ts';
import { McpxError, messageOf } from '../errors.ts';
import { clean, cut, oneLine } from '../render/text.ts';
import { isRecord } from '../wire/message.ts';
import { type ClientHandle, declares } from './server-requests.ts';

export type Verdict = 'accept' | 'decline' | 'cancel';

/** Asks the user outside the protocol, at the terminal. */
export type Confirm = (question: string) => Promise<Verdict>;

/** The part of a call that a confirmation needs. */
export interface Asking extends ClientHandle {
  server: string;
  signal?: CancelSignal | undefined;
  confirm?: Confirm;
  arguments?: unknown;
  together?: JointCalls;
}

/** Calls of one tool that the user confirms with one answer. */
export interface JointCalls {
  /** The arguments of each call, as the downstream sends them. */
  arguments: unknown[];
  /** The confirmation, once one of the calls has asked for it. */
  asked?: Promise<void>;
}

/** Maximum characters of the arguments in a confirmation message: of one call, and of several together. */
const MAX_ARGUMENTS = 300;
const MAX_TOGETHER = 6000;
/** Timeout in milliseconds; long, because a user answers. */
const PATIENCE = 10 * 60_000;

/** Resolves if the user accepts; rejects with `refused` otherwise. */
export function confirmed(call: Asking, tool: Tool, args: unknown): Promise<void> {
  const { together } = call;
  const subject = `"${call.server}.${tool.name}"`;
  // A call whose arguments the list does not show is not part of what the user confirms.
  if (together === undefined || together.arguments.length < 2 || !together.arguments.includes(call.arguments)) {
    return accepted(call, subject, questionOf(subject, args));
  }
  together.asked ??= accepted(call, subject, questionOfAll(subject, together.arguments));
  return together.asked;
}

async function accepted(call: Asking, subject: string, question: string): Promise<void> {
  const verdict = await ask(call, subject, question);
  if (verdict === 'accept') return;
  const what = verdict === 'decline' ? 'said no' : 'gave no answer';
  throw new McpxError('refused', `${subject} did not run: the user was asked and ${what}`);
}

function questionOf(subject: string, args: unknown): string {
  return `Run ${oneLine(clean(subject))}? It is not declared read-only. Arguments: ${shownArguments(args, MAX_ARGUMENTS)}`;
}

function questionOfAll(subject: string, all: unknown[]): string {
  const most = Math.min(MAX_ARGUMENTS, Math.floor(MAX_TOGETHER / all.length));
  const list = all.map((args, index) => `${index + 1}. ${shownArguments(args, most)}`).join('\n');
  return `Run ${oneLine(clean(subject))} ${all.length} times? It is not declared read-only. Arguments:\n${list}`;
}

function shownArguments(args: unknown, most: number): string {
  const text = args === undefined ? '{}' : JSON.stringify(args);
  return cut(oneLine(clean(text)), most);
}

async function ask(call: Asking, subject: string, message: string): Promise<Verdict> {
  const { caller, confirm, signal } = call;
  if (confirm !== undefined) return confirm(message);
  if (call.ask === undefined || !declares(caller.capabilities.elicitation, 'form')) throw unasked(subject);
  const params = { message, requestedSchema: { type: 'object', properties: {} } };
  try {
    const answer = await call.ask('elicitation/create', params, { timeout: PATIENCE, ...(signal && { signal }) });
    const action = isRecord(answer) ? answer.action : undefined;
    return action === 'accept' || action === 'decline' ? action : 'cancel';
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new McpxError('refused', `${subject} did not run: the user could not be asked: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function unasked(subject: string): McpxError {
  return new McpxError(
    'refused',
    `${subject} is not declared read-only, and this client cannot ask its user to confirm it`,
    {
      hint: 'use a client with a session that supports elicitation, or "mcpx exec --yes" in a shell; "policy.confirm" in the config decides this',
    },
  );
}
