/** `lock: "enforce"`: clients get the accepted definitions only; any other definition waits for `mcpx lock --accept`. */
import type { ServerSpec } from '../../config/config.ts';
import { McpxError } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import { launchKey } from '../catalog-store.ts';
import type { ListedTool, Tool } from '../listing.ts';
import { type AcceptedDefinitions, createAcceptedDefinitions, type Known } from './accepted-definitions.ts';
import { createComparison } from './digest.ts';
import { createAcceptance, lockedOf } from './lock-comparison.ts';
import type { Locked, LockedServer, LockFile } from './lock-file.ts';
import { createTeller, few, type Lesson, type Pins, type SessionPins } from './pins.ts';

export interface GuardOptions {
  log: Log;
  /** Without a file nothing survives the process. */
  file?: LockFile | undefined;
}

type Acceptance = ReturnType<typeof createAcceptance>;

export function createGuard({ log, file }: GuardOptions): Pins {
  const acceptance = createAcceptance(createComparison());
  const keyOf = createKeys();
  /** The last list of each server by its name, for a lock file that was replaced by one without that server. */
  const lessons = new Map<string, Lesson>();
  const accepted = createAcceptedDefinitions({
    ...{ log, file },
    replaced(state) {
      for (const lesson of lessons.values())
        if (!state.has(keyOf(lesson.spec))) record.first(keyOf(lesson.spec), lesson);
    },
  });
  const record = createRecord({ log, acceptance, change: accepted.change });
  const session = createSession(accepted, { acceptance, keyOf });

  accepted.look();
  return {
    get revision() {
      accepted.look();
      return accepted.revision;
    },
    learned(lesson) {
      const key = keyOf(lesson.spec);
      lessons.set(lesson.spec.name, lesson);
      const { state } = accepted.look(0);
      const server = state?.get(key);
      if (server !== undefined) record.compare(key, lesson, server);
      else if (state !== undefined) record.first(key, lesson);
      return false;
    },
    session: () => session,
    canResume: () => true,
    release: () => undefined,
    flush: () => undefined,
  };
}

/** Returns the key of a server in the lock file; it is computed once per entry of the config. */
function createKeys(): (spec: ServerSpec) => string {
  const keys = new WeakMap<ServerSpec, string>();
  return (spec) => {
    const key = keys.get(spec) ?? launchKey(spec);
    keys.set(spec, key);
    return key;
  };
}

/** Records what a list shows: a new server is locked, and differences from the lock wait to be accepted. */
function createRecord({
  log,
  acceptance,
  change,
}: { log: Log; acceptance: Acceptance } & Pick<AcceptedDefinitions, 'change'>) {
  const tell = createTeller(log);

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

  return {
    first(key: string, { spec, version, tools }: Lesson) {
      const locked = lockedOf([...tools.values()]);
      change((all) => {
        if (!all.has(key)) all.set(key, { name: spec.name, version, tools: new Map(locked), waiting: new Map() });
      });
      log.info(`locked ${locked.size} tools of server "${spec.name}"`);
    },
    compare(key: string, lesson: Lesson, server: LockedServer) {
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
    },
  };
}

/** The view of every client: accepted definitions only. */
function createSession(
  { look }: Pick<AcceptedDefinitions, 'look'>,
  { acceptance, keyOf }: { acceptance: Acceptance; keyOf: (spec: ServerSpec) => string },
): SessionPins {
  const isAccepted = ({ state }: Known, key: string, tool: Tool): boolean =>
    acceptance.isAccepted(state?.get(key)?.tools.get(tool.name), tool);
  return {
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
