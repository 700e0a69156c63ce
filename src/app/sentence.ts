/** The state of a server as a sentence, and what mends it. */
import type { ServerEntry } from '../catalog/catalog.ts';
import { unansweredLists } from '../catalog/list-requests.ts';
import type { ServerSpec } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { ServerStatus } from '../listen/gateway.ts';
import type { ConnectionState } from '../upstream/connection.ts';

export interface Stated {
  spec: ServerSpec;
  state: ConnectionState;
  entry: ServerEntry | undefined;
  /** Whether its profile runs. */
  running: boolean;
  /** How many of its tools may be seen. */
  tools: number;
  /** The command that tries it and shows what it says. */
  check: string;
}

type Words = Pick<ServerStatus, 'sentence' | 'mend' | 'check'>;

export function sentenceOf({ spec, state, entry, running, tools, check }: Stated): Words {
  if (spec.disabled)
    return { sentence: 'it is switched off in the config', mend: 'set "disabled" to false in its entry' };
  if (!running) return { sentence: 'its profile is disabled', mend: 'set "enabled" to true in the profile' };
  const count = tools === 1 ? '1 tool' : `${tools} tools`;
  if (state.kind === 'connecting')
    return { sentence: state.fetching === undefined ? 'it is starting' : `${state.fetching} is downloading it` };
  const failure = entry?.listing.kind === 'failed' ? entry.listing.error : undefined;
  const unanswered = entry === undefined ? [] : unansweredLists(entry.offer);
  if (state.kind === 'ready') {
    const lists = [...(failure === undefined ? [] : [firstLine(messageOf(failure))]), ...unanswered];
    if (lists.length === 0) return { sentence: `it is running and offers ${count}` };
    const sentence = `it is running and offers ${count}; it did not answer all of its lists: ${lists.join('; ')}`;
    return { sentence, mend: hintOf(failure) ?? check, check };
  }
  if (state.kind === 'backoff') {
    const next = state.resting ? 'the next call tries again' : 'it is tried again by itself';
    return { sentence: `${firstLine(state.reason)}; ${next}`, mend: hintOf(failure) ?? check, check };
  }
  if (failure !== undefined) return { sentence: firstLine(messageOf(failure)), mend: hintOf(failure) ?? check, check };
  if (state.kind === 'closed') return { sentence: 'it is stopped' };
  const known = entry?.listing.kind === 'listed';
  return {
    sentence: known ? `it rests and starts at the next call; it offers ${count}` : 'it has not been started yet',
  };
}

function hintOf(failure: unknown): string | undefined {
  return failure instanceof McpxError ? failure.hint : undefined;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
