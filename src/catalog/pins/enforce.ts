/** `lock: "enforce"`: clients get the accepted definitions only; any other definition waits for `mcpx lock --accept`. */
import type { ServerSpec } from '../../config/config.ts';
import { McpxError, messageOf } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import { launchKey } from '../catalog-store.ts';
import type { ListedTool, Tool } from '../listing.ts';
import { createComparison } from './digest.ts';
import { createAcceptance, lockedOf } from './lock-comparison.ts';
import type { Locked, LockedServer, LockFile, LockReading, LockState } from './lock-file.ts';
import { createTeller, few, type Lesson, type Pins, type SessionPins } from './pins.ts';

/** Milliseconds between two checks of the lock file. */
const LOOK = 500;

export interface GuardOptions {
  log: Log;
  /** Without a file nothing survives the process. */
  file?: LockFile | undefined;
}

/** The accepted definitions. Nothing is accepted if the file cannot be used. */
type Known = { state: LockState; broken?: undefined } | { state?: undefined; broken: McpxError };

export function createGuard({ log, file }: GuardOptions): Pins {
  const acceptance = createAcceptance(createComparison());
  const tell = createTeller(log);
  const keys = new WeakMap<ServerSpec, string>();
  /** The last list of each server by its name, for a lock file that was replaced by one without that server. */
  const lessons = new Map<string, Lesson>();
  let known: Known = { state: new Map() };
  /** True after the first check of the file. */
  let begun = false;
  /** Why the file cannot be read at the moment; undefined if it can. */
  let unread: string | undefined;
  let looked = Number.NEGATIVE_INFINITY;
  let revision = 0;

  const keyOf = (spec: ServerSpec): string => {
    const key = keys.get(spec) ?? launchKey(spec);
    keys.set(spec, key);
    return key;
  };

  const look = (patience = LOOK): Known => {
    const now = performance.now();
    if (now - looked < patience) return known;
    looked = now;
    const reading = file?.read();
    if (reading !== undefined && !outlasts(reading)) {
      const next = reading.kind === 'broken' ? reading.error : reading.kind === 'missing' ? new Map() : reading.state;
      const same = next instanceof McpxError ? next.message === known.broken?.message : next === known.state;
      if (!same) take(next);
    }
    begun = true;
    return known;
  };
  /**
   * True if the accepted definitions stay valid although the file was removed or cannot be read; the next start begins
   * anew.
   */
  const outlasts = (reading: LockReading): boolean => {
    const failure = reading.kind === 'broken' && reading.unread ? reading.error.message : undefined;
    const holds = known.state !== undefined && begun && (reading.kind === 'missing' || failure !== undefined);
    if (holds && failure !== undefined && failure !== unread)
      log.error(`${failure}; what was accepted before holds, and nothing else`);
    unread = failure;
    return holds;
  };
  const take = (next: LockState | McpxError) => {
    revision += 1;
    known = next instanceof McpxError ? { broken: next } : { state: next };
    const { state, broken } = known;
    if (broken !== undefined)
      log.error(`${broken.message}; until it is repaired every call is refused: ${broken.hint}`);
    else for (const lesson of lessons.values()) if (!state.has(keyOf(lesson.spec))) first(lesson);
  };

  /** Applies a change in memory at once, and in the file as soon as no other process writes it. */
  const change = (edit: (state: LockState) => void) => {
    if (known.state !== undefined) edit(known.state);
    revision += 1;
    file?.change(edit).catch((error: unknown) => log.error(`the lock file cannot be written: ${messageOf(error)}`));
  };

  const first = ({ spec, version, tools }: Lesson) => {
    const key = keyOf(spec);
    const locked = lockedOf([...tools.values()]);
    change((all) => {
      if (!all.has(key)) all.set(key, { name: spec.name, version, tools: new Map(locked), waiting: new Map() });
    });
    log.info(`locked ${locked.size} tools of server "${spec.name}"`);
  };

  const compare = (key: string, lesson: Lesson, server: LockedServer) => {
    const { spec, version } = lesson;
    const live = lockedOf([...lesson.tools.values()]);
    if ([...server.tools.values()].some(({ partial }) => partial)) complete(key, spec.name, live);
    tell({ changed: [], ignored: acceptance.ignored(server, live) }, lesson);
    const waiting = acceptance.waiting(server, live);
    if (acceptance.sameWaiting(waiting, server.waiting)) return;
    change((all) => {
      const entry = all.get(key);
      if (entry === undefined) return;
      all.set(key, { ...entry, name: spec.name, version, waiting: acceptance.waiting(entry, live) });
    });
    if (waiting.size === 0) return;
    log.warn(
      `${waiting.size} tools of server "${spec.name}" wait for "mcpx lock --accept ${spec.name}": ${few([...waiting.keys()])}`,
    );
  };

  /**
   * Completes entries of an older format: the fields that it did not lock are locked as they are now, as for a new
   * server.
   */
  const complete = (key: string, name: string, live: Map<string, Locked>) => {
    const added: string[] = [];
    change((all) => {
      const entry = all.get(key);
      if (entry !== undefined) added.push(...acceptance.complete(entry, live));
    });
    if (added.length > 0) log.warn(completed(name, added));
  };

  const session: SessionPins = {
    shown({ spec }, tools) {
      const { state, broken } = look();
      if (broken !== undefined) return tools.map((listed) => withheld(listed, broken));
      const server = state.get(keyOf(spec));
      return tools.flatMap((listed) => {
        const locked = server?.tools.get(listed.tool.name);
        if (acceptance.isAccepted(locked, listed.tool)) return [listed];
        return locked === undefined ? [] : [{ ...listed, tool: locked.definition }];
      });
    },
    relies: () => true,
    held({ name, spec }, { tool }) {
      const key = keyOf(spec);
      if (isAccepted(look(), key, tool)) return undefined;
      // The tool may have been accepted a moment ago.
      const now = look(0);
      if (isAccepted(now, key, tool)) return undefined;
      if (now.broken !== undefined) return now.broken;
      const isKnown = now.state.get(key)?.tools.has(tool.name) === true;
      return unaccepted(`${name}.${tool.name}`, isKnown ? 'changed its definition' : 'is new');
    },
  };
  const isAccepted = ({ state }: Known, key: string, tool: Tool): boolean =>
    acceptance.isAccepted(state?.get(key)?.tools.get(tool.name), tool);

  look();
  return {
    get revision() {
      look();
      return revision;
    },
    learned(lesson) {
      const key = keyOf(lesson.spec);
      lessons.set(lesson.spec.name, lesson);
      const server = look(0).state?.get(key);
      if (server !== undefined) compare(key, lesson, server);
      else if (known.state !== undefined) first(lesson);
      return false;
    },
    session: () => session,
    canResume: () => true,
    release: () => undefined,
  };
}

/** Returns the message for a lock file of an older format that was completed. */
export function completed(server: string, added: string[]): string {
  return `the lock file was written by an older mcpx, which did not lock every field: these of server "${server}" are now locked as they are: ${few(added)}`;
}

/** Returns a tool for which acceptance is unknown: its name, without anything else from its server. */
function withheld({ tool, upstreamName }: ListedTool, { message, hint }: McpxError): ListedTool {
  const description = `Not available: ${message} (${hint})`;
  return { upstreamName, tool: { name: tool.name, description, inputSchema: { type: 'object' } } };
}

function unaccepted(target: string, what: string): McpxError {
  return new McpxError('refused', `"${target}" ${what} and waits to be accepted`, {
    hint: `mcpx diff ${target} shows it, mcpx lock --accept ${target} accepts it`,
  });
}
