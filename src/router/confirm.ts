/** `policy.confirm`: a person is asked before a tool runs that is not declared read-only. */
import type { Tool } from '../catalog/list.ts';
import { McpxError, messageOf } from '../errors.ts';
import { clean, cut, oneLine } from '../render/text.ts';
import { isRecord } from '../wire/message.ts';
import { declares, type WayBack } from './reverse.ts';

export type Verdict = 'accept' | 'decline' | 'cancel';

/** Somebody who is asked in another way than through the protocol: the person at the terminal. */
export type Confirm = (question: string) => Promise<Verdict>;

/** A call on its way, as far as somebody has to be asked about it. */
export interface Asking extends WayBack {
  server: string;
  signal?: AbortSignal | undefined;
  confirm?: Confirm;
}

/** Characters of the arguments in a question. */
const MAX_ARGUMENTS = 300;
/** ms for an answer; people are asked, so that it is long. */
const PATIENCE = 10 * 60_000;

/** Resolves when the call may run; rejects with `refused` otherwise. */
export async function confirmed(call: Asking, tool: Tool, args: unknown): Promise<void> {
  const subject = `"${call.server}.${tool.name}"`;
  const verdict = await ask(call, subject, questionOf(subject, args));
  if (verdict === 'accept') return;
  const what = verdict === 'decline' ? 'said no' : 'gave no answer';
  throw new McpxError('refused', `${subject} did not run: the user was asked and ${what}`);
}

function questionOf(subject: string, args: unknown): string {
  const text = args === undefined ? '{}' : JSON.stringify(args);
  return `Run ${oneLine(clean(subject))}? It is not declared read-only. Arguments: ${cut(oneLine(clean(text)), MAX_ARGUMENTS)}`;
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
