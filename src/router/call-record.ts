/** The record of one tool call: it starts when the tool is found, or earlier if the client waits for its server. */
import { McpxError } from '../errors.ts';
import type { CallStart, Calls } from '../observe/observer.ts';
import { cut } from '../render/text.ts';
import { reasonOf } from './failures.ts';
import type { ToolCall, ToolResult } from './request-context.ts';

/** Maximum characters of a name in a record. */
export const MAX_NAME = 256;

export class CallRecord {
  readonly #call: ToolCall;
  readonly #calls: Calls;
  #end: ReturnType<Calls['begin']> | undefined;

  constructor(call: ToolCall, calls: Calls) {
    this.#call = call;
    this.#calls = calls;
  }

  /** Starts the record of a tool that is listed. */
  start(): ReturnType<Calls['begin']> {
    this.#end ??= this.#calls.begin(this.#started());
    return this.#end;
  }

  /** Starts the record of a tool that may not exist. */
  startUnlisted(): ReturnType<Calls['begin']> {
    this.#end ??= this.#calls.begin(this.#startedUnlisted());
    return this.#end;
  }

  /**
   * Ends the record of a call whose tool was not found. `isDenied`: the client may not use the tool, which looks missing
   * to it.
   */
  notFound(error: unknown, isDenied: boolean): void {
    const isMissing = error instanceof McpxError && error.code === 'not_found';
    if (this.#end === undefined && isMissing) {
      this.#calls.unreached(this.#startedUnlisted(), isDenied ? 'denied' : 'missing');
      return;
    }
    const reason = reasonOf(error);
    this.startUnlisted()(isMissing ? 'refused' : 'failed', { reason, denied: isDenied || undefined });
  }

  refused(reason: string): void {
    this.start()('refused', { reason });
  }

  failed(error: unknown): void {
    this.start()('failed', { reason: reasonOf(error) });
  }

  ended(result: ToolResult): void {
    this.start()(result.isError === true ? 'tool_error' : 'ok', { result });
  }

  #started(): CallStart {
    const { server, tool: name, requestId: request, arguments: args } = this.#call;
    return { kind: 'tool', server, name, method: 'tools/call', request, arguments: args };
  }

  /** The names are those of the client, of any length. */
  #startedUnlisted(): CallStart {
    const { server, tool } = this.#call;
    return { ...this.#started(), server: cut(server, MAX_NAME), name: cut(tool, MAX_NAME) };
  }
}
