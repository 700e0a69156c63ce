/** `lock: "enforce"`: tools are what was accepted; whatever differs waits for `mcpx lock --accept`. */
import type { ServerSpec } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { createDigests, type Definition, definitionOf } from './digest.ts';
import type { ListedTool, Tool } from './list.ts';
import type { Locked, LockedServer, LockFile, LockState } from './lock-file.ts';
import type { Lesson, Pins, SessionPins } from './pins.ts';
import { launchKey } from './store.ts';

/** A tool that is not what was accepted. */
export interface Change {
  tool: string;
  kind: 'changed' | 'new' | 'gone';
  before?: Definition;
  after?: Definition;
}

export function changesOf({ tools, waiting }: LockedServer, live: ReadonlyMap<string, Locked>): Change[] {
  const fresh = new Map([...waiting, ...live]);
  const gone = [...tools].filter(([tool]) => !fresh.has(tool));
  const others = [...fresh].flatMap(([tool, { digest, definition: after }]): Change[] => {
    const before = tools.get(tool);
    if (before === undefined) return [{ tool, kind: 'new', after }];
    return before.digest === digest ? [] : [{ tool, kind: 'changed', before: before.definition, after }];
  });
  return [...others, ...gone.map(([tool, { definition: before }]): Change => ({ tool, kind: 'gone', before }))];
}

/** Accepts all changes of a server, or those of one tool. */
export function accept(server: LockedServer, live: ReadonlyMap<string, Locked>, only?: string): void {
  const fresh = new Map([...server.waiting, ...live]);
  const names = new Set(only === undefined ? [...fresh.keys(), ...server.tools.keys()] : [only]);
  for (const name of names) {
    const now = fresh.get(name);
    if (now === undefined) server.tools.delete(name);
    else server.tools.set(name, now);
    server.waiting.delete(name);
  }
}

/** ms between two looks at whether somebody has accepted something. */
const LOOK = 500;

export interface GuardOptions {
  log: Log;
  /** Without one nothing outlives the process. */
  file?: LockFile | undefined;
}

export function createGuard({ log, file }: GuardOptions): Pins {
  const digest = createDigests();
  const keys = new WeakMap<ServerSpec, string>();
  let state: LockState | undefined;
  let looked = Number.NEGATIVE_INFINITY;
  let revision = 0;

  const keyOf = (spec: ServerSpec): string => {
    const key = keys.get(spec) ?? launchKey(spec);
    keys.set(spec, key);
    return key;
  };
  const look = (patience = LOOK): LockState => {
    const now = performance.now();
    if (state !== undefined && now - looked < patience) return state;
    looked = now;
    const found = file?.read() ?? state ?? new Map();
    if (found !== state) revision += 1;
    state = found;
    return found;
  };
  const isAccepted = (server: LockedServer | undefined, tool: Tool) =>
    server === undefined || server.tools.get(tool.name)?.digest === digest(tool);

  /** In memory at once, in the file as soon as nobody else writes it. */
  const change = (edit: (state: LockState) => void) => {
    edit(look());
    revision += 1;
    file?.change(edit).catch((error: unknown) => log.error(`the lock file cannot be written: ${messageOf(error)}`));
  };

  const first = (key: string, { spec, version }: Lesson, fresh: Map<string, Locked>) => {
    change((all) => {
      if (!all.has(key)) all.set(key, { name: spec.name, version, tools: new Map(fresh), waiting: new Map() });
    });
    log.info(`locked ${fresh.size} tools of server "${spec.name}"`);
  };

  const compare = (key: string, { spec, version }: Lesson, fresh: Map<string, Locked>, server: LockedServer) => {
    const waiting = waitingOf(server, fresh);
    if (sameDigests(waiting, server.waiting)) return;
    change((all) => {
      const known = all.get(key);
      if (known !== undefined) all.set(key, { ...known, name: spec.name, version, waiting: waitingOf(known, fresh) });
    });
    if (waiting.size === 0) return;
    const names = [...waiting.keys()].slice(0, 10).join(', ');
    log.warn(`${waiting.size} tools of server "${spec.name}" wait for "mcpx lock --accept ${spec.name}": ${names}`);
  };

  const session: SessionPins = {
    shown({ spec }, tools) {
      const server = look().get(keyOf(spec));
      return tools.flatMap((listed) => {
        if (isAccepted(server, listed.tool)) return [listed];
        const locked = server?.tools.get(listed.tool.name);
        return locked === undefined ? [] : [{ ...listed, tool: locked.definition }];
      });
    },
    relies: () => true,
    held({ name, spec }, { tool }) {
      const key = keyOf(spec);
      if (isAccepted(look().get(key), tool)) return undefined;
      // Somebody may have accepted it a moment ago.
      const server = look(0).get(key);
      if (isAccepted(server, tool)) return undefined;
      return unaccepted(`${name}.${tool.name}`, server?.tools.has(tool.name) ? 'changed its definition' : 'is new');
    },
  };

  return {
    get revision() {
      look();
      return revision;
    },
    learned(lesson) {
      const key = keyOf(lesson.spec);
      const fresh = lockedOf([...lesson.tools.values()], digest);
      const server = look(0).get(key);
      if (server === undefined) first(key, lesson, fresh);
      else compare(key, lesson, fresh, server);
    },
    session: () => session,
    release: () => undefined,
  };
}

export function lockedOf(tools: ListedTool[], digest: (tool: Tool) => string): Map<string, Locked> {
  return new Map(tools.map(({ tool }) => [tool.name, { digest: digest(tool), definition: definitionOf(tool) }]));
}

/** What is not accepted of a list; what other lists are waiting for goes on waiting. */
function waitingOf({ tools, waiting }: LockedServer, fresh: ReadonlyMap<string, Locked>): Map<string, Locked> {
  const all = new Map([...waiting, ...fresh]);
  return new Map([...all].filter(([name, { digest }]) => tools.get(name)?.digest !== digest));
}

function sameDigests(one: ReadonlyMap<string, Locked>, other: ReadonlyMap<string, Locked>): boolean {
  return one.size === other.size && [...one].every(([name, { digest }]) => other.get(name)?.digest === digest);
}

function unaccepted(target: string, what: string): McpxError {
  return new McpxError('refused', `"${target}" ${what} and waits to be accepted`, {
    hint: `mcpx diff ${target} shows it, mcpx lock --accept ${target} accepts it`,
  });
}
