/** Describes the state of a server as a sentence, with a hint that fixes its problem. */
import type { ServerEntry } from '../catalog/catalog.ts';
import { unansweredLists } from '../catalog/list-requests.ts';
import type { ServerSpec } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { ServerStatus } from '../listen/app-api.ts';
import type { ConnectionState } from '../upstream/connection-interface.ts';

export interface Stated {
  spec: ServerSpec;
  state: ConnectionState;
  entry: ServerEntry | undefined;
  /** True if its profile is running. */
  running: boolean;
  /** The number of its tools that the client may see. */
  tools: number;
  /** The shell command that starts the server and shows its errors. */
  check: string;
}

type Words = Pick<ServerStatus, 'sentence' | 'mend' | 'check'>;

export function stateText({ spec, state, entry, running, tools, check }: Stated): Words {
  if (spec.disabled) return { sentence: 'it is disabled in the config', mend: 'set "disabled" to false in its entry' };
  if (!running) return { sentence: 'its profile is disabled', mend: 'set "enabled" to true in the profile' };
  const count = tools === 1 ? '1 tool' : `${tools} tools`;
  if (state.kind === 'connecting')
    return { sentence: state.fetching === undefined ? 'it is starting' : `${state.fetching} is downloading it` };
  const failure = entry?.listing.kind === 'failed' ? entry.listing.error : undefined;
  const unanswered = entry === undefined ? [] : unansweredLists(entry.offer);
  if (state.kind === 'ready') {
    const lists = [...(failure === undefined ? [] : [firstLine(messageOf(failure))]), ...unanswered];
    if (lists.length === 0) return { sentence: `it is running and offers ${count}` };
    const sentence = `it is running and offers ${count}; some of its lists failed: ${lists.join('; ')}`;
    return { sentence, mend: hintOf(failure) ?? check, check };
  }
  if (state.kind === 'backoff') {
    const next = state.resting ? 'the next call retries' : 'mcpx retries automatically';
    return { sentence: `${firstLine(state.reason)}; ${next}`, mend: hintOf(failure) ?? check, check };
  }
  if (failure !== undefined) return { sentence: firstLine(messageOf(failure)), mend: hintOf(failure) ?? check, check };
  if (state.kind === 'closed') return { sentence: 'it is stopped' };
  const known = entry?.listing.kind === 'listed';
  return {
    sentence: known ? `it is idle and starts at the next call; it offers ${count}` : 'it has not been started yet',
  };
}

function hintOf(failure: unknown): string | undefined {
  return failure instanceof McpxError ? failure.hint : undefined;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
