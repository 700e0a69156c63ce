/** The record of one tool call: it starts when the tool is found, or earlier if the client waits for its server. */
import { McpxError } from '../errors.ts';
import type { Calls } from '../observe/observer.ts';
import { reasonOf } from './failures.ts';
import type { ToolCall, ToolResult } from './request-context.ts';

export interface CallRecord {
  start(): void;
  /**
   * Ends the record of a call whose tool was not found. `isDenied`: the client may not use the tool, which looks missing
   * to it.
   */
  notFound(error: unknown, isDenied: boolean): void;
  refused(reason: string): void;
  failed(error: unknown): void;
  ended(result: ToolResult): void;
}

export function createCallRecord(request: ToolCall, calls: Calls): CallRecord {
  let end: ReturnType<Calls['begin']> | undefined;
  const call = () => {
    const { server, tool: name, requestId } = request;
    return { kind: 'tool', server, name, method: 'tools/call', request: requestId } as const;
  };
  const start = () => {
    end ??= calls.begin({ ...call(), arguments: request.arguments });
    return end;
  };
  return {
    start,
    notFound(error, isDenied) {
      const isMissing = error instanceof McpxError && error.code === 'not_found';
      const denied = isDenied || undefined;
      if (end !== undefined || !isMissing)
        start()(isMissing ? 'refused' : 'failed', { reason: reasonOf(error), denied });
      else if (isDenied) calls.deny(call());
    },
    refused: (reason) => start()('refused', { reason }),
    failed: (error) => start()('failed', { reason: reasonOf(error) }),
    ended: (result) => start()(result.isError === true ? 'tool_error' : 'ok', { result }),
  };
}
