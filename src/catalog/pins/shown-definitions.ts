/** Digests of the definitions that the sessions of a profile were shown, on disk, for sessions that are resumed in another process. */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { ensureFolder, readIfPresent, writeFileAtomic } from '../../files.ts';
import { sharedKey } from '../../mcp/capabilities.ts';
import type { Log } from '../../observe/log.ts';
import type { Comparison } from './digest.ts';
import type { Lesson } from './pins.ts';

/** The list of one server for one set of capabilities. */
export interface ShownList {
  version: string;
  folder?: string | undefined;
  /** Digests by tool name, also of removed tools. */
  tools: Record<string, string>;
  /** Epoch milliseconds; earlier sessions may have been shown other definitions. */
  since: number;
}

/** Lists by server and set of capabilities. */
type Lists = Record<string, Record<string, ShownList>>;

/** The definitions that one session was shown. */
export type ShownTo = (server: string, offered: string) => ShownList | undefined;

export interface ShownDefinitions {
  /** Records the definitions that sessions are shown from now on. */
  note(lesson: Lesson, comparison: Comparison): void;
  /** Returns the definitions that a session from that time was shown; undefined if they are no longer known. */
  to(issued: number): ShownTo | undefined;
}

export interface ShownDefinitionsOptions {
  folder: string;
  profile: string;
  log: Pick<Log, 'warn'>;
}

/** Maximum number of tool names in one list; a server that has had more of them is not followed. */
const MAX_TOOLS = 5000;

export function createShownDefinitions({ folder, profile, log }: ShownDefinitionsOptions): ShownDefinitions {
  const file = join(folder, `${createHash('sha256').update(profile).digest('hex').slice(0, 32)}.json`);
  let known: { stamp: string; lists: Lists } = { stamp: '', lists: {} };
  let isBroken = false;

  /** Reads the file again if another process has written it. */
  const read = (): Lists => {
    const stamp = stampOf(file);
    if (stamp !== known.stamp) known = { stamp, lists: parse(readIfPresent(file)) };
    return known.lists;
  };
  const write = (lists: Lists) => {
    ensureFolder(dirname(file));
    writeFileAtomic(file, JSON.stringify(lists), { sync: false });
    known = { stamp: stampOf(file), lists };
  };

  return {
    note(lesson, comparison) {
      const { name } = lesson.spec;
      try {
        const lists = read();
        const own = Object.hasOwn(lists, name) ? lists[name] : undefined;
        const before = own?.[lesson.offered];
        const next = following(before, lesson, comparison);
        if (next !== before) write({ ...lists, [name]: { ...own, [lesson.offered]: next } });
      } catch (error) {
        if (!isBroken) log.warn(`"${file}" cannot be used (${messageOf(error)}): sessions do not survive a restart`);
        isBroken = true;
      }
    },
    to(issued) {
      if (isBroken) return undefined;
      const lists = read();
      const all = Object.values(lists).flatMap((own) => Object.values(own));
      if (all.some(({ since }) => since >= issued)) return undefined;
      return (server, offered) => {
        const own = Object.hasOwn(lists, server) ? lists[server] : undefined;
        return own?.[offered] ?? own?.[sharedKey(offered)] ?? Object.values(own ?? {}).at(-1);
      };
    },
  };
}

/** Returns the entry to write after a list; the same object if nothing is to be written. */
function following(before: ShownList | undefined, lesson: Lesson, comparison: Comparison): ShownList {
  const { version, folder } = lesson;
  const tools = Object.fromEntries([...lesson.tools.values()].map(({ tool }) => [tool.name, comparison.digest(tool)]));
  const now = Date.now();
  if (before === undefined) return { version, folder, tools, since: 0 };
  // Lists for two folders may differ, and only one of them is stored.
  if (before.folder !== folder) return { version, folder, tools, since: now };
  // A new version starts a new entry.
  if (before.version !== version) return { ...before, version, tools };
  const names = Object.keys(tools).filter((name) => before.tools[name] !== tools[name]);
  if (names.length === 0) return before;
  const isChanged = names.some((name) => Object.hasOwn(before.tools, name));
  const all = { ...before.tools, ...tools };
  const isTooLong = Object.keys(all).length > MAX_TOOLS;
  return { ...before, tools: isTooLong ? tools : all, since: isChanged || isTooLong ? now : before.since };
}

function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.mtimeMs} ${found.size}`;
}

function parse(text: string | undefined): Lists {
  return text === undefined ? {} : (JSON.parse(text) as Lists);
}
