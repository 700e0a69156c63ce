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

  start(): ReturnType<Calls['begin']> {
    this.#end ??= this.#calls.begin(this.#started());
    return this.#end;
  }

  /**
   * Ends the record of a call whose tool was not found. `isDenied`: the client may not use the tool, which looks missing
   * to it.
   */
  notFound(error: unknown, isDenied: boolean): void {
    const isMissing = error instanceof McpxError && error.code === 'not_found';
    if (this.#end === undefined && isMissing) {
      this.#calls.unreached(this.#started(), isDenied ? 'denied' : 'missing');
      return;
    }
    const reason = reasonOf(error);
    this.start()(isMissing ? 'refused' : 'failed', { reason, denied: isDenied || undefined });
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
    const { server, tool, requestId: request, arguments: args } = this.#call;
    // The names may be those of a client, of any length.
    const [target, name] = [cut(server, MAX_NAME), cut(tool, MAX_NAME)];
    return { kind: 'tool', server: target, name, method: 'tools/call', request, arguments: args };
  }
}
