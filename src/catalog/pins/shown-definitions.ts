/** Digests of the definitions that the sessions of a profile were shown, on disk, for sessions that are resumed in another process. */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../errors.ts';
import type { Interruptible } from '../../event-loop.ts';
import { ensureFolder, readIfPresent, writeFileAtomic } from '../../files.ts';
import { sharedKey } from '../../mcp/capabilities.ts';
import type { Log } from '../../observe/log.ts';
import { createDeferredWrites } from '../deferred-writes.ts';
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
  /** Records the definitions that sessions are shown from now on. They are on disk a moment later. */
  note(lesson: Lesson, comparison: Comparison): void;
  /** Writes the definitions that are not on disk yet. */
  flush(): void;
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

  const writes = createDeferredWrites();
  /** The lists that are not on disk yet, in order. */
  const pending: Noted[] = [];

  function* writePending(): Interruptible<void> {
    for (const { lesson, comparison } of pending) {
      for (const { tool } of lesson.tools.values()) {
        // The digests of thousands of tools take long; they are remembered.
        comparison.digest(tool);
        yield;
      }
    }
    record(pending.splice(0));
  }

  const record = (all: Noted[]) => {
    try {
      const before = read();
      const lists = all.reduce(withLesson, before);
      if (lists !== before) write(lists);
    } catch (error) {
      if (!isBroken) log.warn(`"${file}" cannot be used (${messageOf(error)}): sessions do not survive a restart`);
      isBroken = true;
    }
  };

  return {
    note(lesson, comparison) {
      pending.push({ lesson, comparison, at: Date.now() });
      writes.add(file, writePending);
    },
    flush: writes.flush,
    to(issued) {
      writes.flush();
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

/** A list, and when it was shown, in epoch milliseconds. */
interface Noted {
  lesson: Lesson;
  comparison: Comparison;
  at: number;
}

/** Returns the lists with another one; the same object if nothing is to be written. */
function withLesson(lists: Lists, noted: Noted): Lists {
  const { spec, offered } = noted.lesson;
  const own = Object.hasOwn(lists, spec.name) ? lists[spec.name] : undefined;
  const before = own?.[offered];
  const next = following(before, noted);
  return next === before ? lists : { ...lists, [spec.name]: { ...own, [offered]: next } };
}

function following(before: ShownList | undefined, { lesson, comparison, at: now }: Noted): ShownList {
  const { version, folder } = lesson;
  const tools = Object.fromEntries([...lesson.tools.values()].map(({ tool }) => [tool.name, comparison.digest(tool)]));
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
