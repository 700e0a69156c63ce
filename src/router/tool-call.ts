/** The steps of a tool call, which `router.ts` runs in order: find, authorize, check, send, and remember its outcome. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Tool } from '../catalog/listing.ts';
import { taskIn } from '../mcp/tasks.ts';
import type { Calls } from '../observe/observer.ts';
import type { Access } from '../policy/access.ts';
import { isRepeatable } from '../render/tool-hints.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Pool } from '../upstream/pool.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { Unparsed } from '../wire/unparsed-result.ts';
import type { Admission } from './admission.ts';
import type { ArgumentChecker, Checked } from './arguments.ts';
import type { CallHistory } from './call-history.ts';
import type { CallRecord } from './call-record.ts';
import { type Looked, ShownTool } from './definition-check.ts';
import { dispatch } from './dispatch.ts';
import { describe, isHeld, noResult, reasonOf, withdrawn } from './failures.ts';
import type { Finder } from './find-tool.ts';
import { badArguments, unknownServer } from './not-found.ts';
import { readShallow } from './partial-parse.ts';
import type { RequestContext, ToolCall, ToolResult } from './request-context.ts';
import type { OfferSignIn } from './sign-in-page.ts';
import type { OwnTasks } from './task-owners.ts';
import type { Views } from './views.ts';

/** The parts of a router that its steps use. */
export interface RouterParts {
  catalog: Pick<Catalog, 'revision' | 'isCurrent' | 'renew'>;
  pool: Pick<Pool, 'get'>;
  access: Access;
  checker: ArgumentChecker;
  calls: Calls;
  configFile?: string | undefined;
  admission: Admission;
  views: Views;
  finder: Finder;
  /** The outcomes of this client's earlier calls. */
  experience: CallHistory;
  tasks: OwnTasks;
  offerSignIn?: OfferSignIn | undefined;
}

/** Finds the tool, at once if its server is listed; the record shows a call that waits for its server. */
export function find(request: ToolCall, parts: RouterParts, record: CallRecord): Looked | Promise<Looked> {
  const { server, tool } = request;
  const listed = parts.views.ready(server, tool);
  if (listed === undefined) return listAndFind(request, parts, record);
  record.start();
  return { listed, revision: parts.catalog.revision };
}

async function listAndFind(
  { server, tool }: ToolCall,
  { finder, views, catalog }: RouterParts,
  record: CallRecord,
): Promise<Looked> {
  if (views.awaits(server)) record.startUnlisted();
  try {
    const listed = await finder.find(server, tool);
    record.start();
    return { listed, revision: catalog.revision };
  } catch (error) {
    record.notFound(error, views.denies(server, tool));
    throw error;
  }
}

/** Throws if the definition is blocked or the front refuses the tool. The errors of `check` would reveal a definition. */
export function authorize(
  { server, unwanted }: ToolCall,
  { listed }: Looked,
  { views }: RouterParts,
  record: CallRecord,
): void {
  const held = views.held(server, listed);
  if (held !== undefined) record.refused('definition');
  const refusal = held ?? unwanted?.(listed.tool);
  if (refusal === undefined) return;
  if (held === undefined) record.refused(reasonOf(refusal));
  throw refusal;
}

/** Returns the arguments to send: checked and repaired, and confirmed by the user where the policy asks for it. */
export function check(request: ToolCall, found: Looked, parts: RouterParts, record: CallRecord): unknown {
  const { tool } = found.listed;
  if (request.mode === 'verbatim') return confirmed(request, { tool, args: request.arguments }, parts, record);
  return checkedArguments(request, tool, parts, record);
}

/** Returns the arguments, at once if no confirmation is needed. */
function confirmed(
  request: ToolCall,
  { tool, args }: { tool: Tool; args: unknown },
  { admission }: RouterParts,
  record: CallRecord,
): unknown {
  return (
    admission.confirm(request, tool, args)?.then(
      () => args,
      (error: unknown) => {
        record.refused(reasonOf(error));
        throw error;
      },
    ) ?? args
  );
}

/** Returns the checked arguments, at once if the tool was checked before and no confirmation is needed. */
function checkedArguments(request: ToolCall, tool: Tool, parts: RouterParts, record: CallRecord): unknown {
  const proceed = (checked: Checked): unknown => {
    if (!checked.ok) return rejectArguments(request, { tool, checked }, parts, record);
    if (checked.notes.length > 0) request.noted?.(checked.notes);
    return confirmed(request, { tool, args: checked.args }, parts, record);
  };
  const checking = parts.checker.check(tool, request.arguments);
  return checking instanceof Promise ? checking.then(proceed) : proceed(checking);
}

/** Throws the error with what is wrong, the signature and an example. */
async function rejectArguments(
  { server }: ToolCall,
  { tool, checked }: { tool: Tool; checked: Checked & { ok: false } },
  { checker, experience }: RouterParts,
  record: CallRecord,
): Promise<never> {
  record.refused('arguments');
  const earlier = experience.lastArguments(server, tool.name);
  // The arguments of an earlier call are an example if they still pass the check.
  const worked = earlier !== undefined && (await checker.check(tool, earlier)).ok ? earlier : undefined;
  experience.failed(server, tool.name);
  throw badArguments({ server, tool, problems: checked.problems, worked });
}

/** A tool call that is ready to be sent. */
export interface Prepared {
  request: ToolCall;
  found: Looked;
  args: unknown;
}

/** Sends the call within the limits on concurrent calls, and returns the server's result. */
export async function send(call: Prepared, parts: RouterParts, record: CallRecord): Promise<ToolResult> {
  const { caller, server, tool } = call.request;
  const { admission } = parts;
  try {
    admission.enter(caller.holder, server);
  } catch (error) {
    record.refused(reasonOf(error));
    throw error;
  }
  try {
    const connection = connectionTo(server, call.request, parts);
    const received = await dispatched(connection, call, parts);
    const result = received instanceof Unparsed ? readShallow(received) : received;
    if (!isRecord(result)) throw noResult(call.request);
    if (taskIn(result)?.begins) parts.tasks.note(connection, result);
    return result;
  } catch (error) {
    if (isHeld(error)) record.refused('definition');
    else record.failed(error);
    throw describe(error, server, tool);
  } finally {
    admission.leave(caller.holder, server);
  }
}

function dispatched(connection: Connection, { request, found, args }: Prepared, parts: RouterParts): Promise<unknown> {
  const { meta, mode } = request;
  const { tool, upstreamName } = found.listed;
  const transparent = mode === 'verbatim';
  const extra = transparent ? request.extra : undefined;
  const own = { name: upstreamName, arguments: args };
  const params: Params = meta || extra ? { ...extra, ...own, ...(meta && { _meta: meta }) } : own;
  const precondition = new ShownTool(parts, found, connection);
  const repeatable = isRepeatable(tool.annotations);
  const how = { transparent, repeatable, verbatim: bytesFor(request), precondition };
  return dispatch(connection, 'tools/call', params, request, how);
}

/** Returns the caller's connection to a server. */
export function connectionTo(
  server: string,
  { caller, signal }: Pick<RequestContext, 'caller' | 'signal'>,
  { pool, views, configFile }: RouterParts,
): Connection {
  // The client may have left while the server was listed; nothing would clean up after it.
  if (signal?.aborted) throw withdrawn(server);
  const connection = pool.get(server, caller);
  if (connection === undefined) throw unknownServer(server, views.entries(), configFile);
  return connection;
}

/**
 * Returns which results stay unparsed: all large ones if nothing reads them, otherwise only those that are costly to
 * parse.
 */
function bytesFor({ mode, verbatim }: ToolCall): 'large' | 'costly' | undefined {
  if (mode !== 'verbatim') return 'costly';
  return verbatim ? 'large' : undefined;
}

/** Remembers the outcome of a call for the examples in later errors. */
export function remember(
  { server, tool, mode }: ToolCall,
  args: unknown,
  result: ToolResult,
  { experience }: RouterParts,
): void {
  // Only checked calls store arguments: verbatim calls never show an example.
  if (result.isError === true) experience.failed(server, tool);
  else if (mode !== 'verbatim') experience.worked(server, tool, args);
}
