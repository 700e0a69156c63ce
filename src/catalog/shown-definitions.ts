/** Digests of the definitions that the sessions of a profile were shown, on disk: a session that goes on in another process is held to them. */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../errors.ts';
import { ensureFolder, readIfPresent, writeFileAtomic } from '../files.ts';
import type { Log } from '../observe/log.ts';
import { sharedKey } from '../upstream/sharing.ts';
import type { Comparison } from './digest.ts';
import type { Lesson } from './pins.ts';

/** What one server listed for one set of capabilities. */
export interface ShownList {
  version: string;
  folder?: string | undefined;
  /** Digests by the name of the tool, also of tools that are gone. */
  tools: Record<string, string>;
  /** Epoch ms: sessions from before may have been shown something else. */
  since: number;
}

/** Lists by server and set of capabilities. */
type Lists = Record<string, Record<string, ShownList>>;

/** The definitions that one session was shown. */
export type ShownTo = (server: string, offered: string) => ShownList | undefined;

export interface ShownDefinitions {
  /** Takes note of what sessions are shown from now on. */
  note(lesson: Lesson, comparison: Comparison): void;
  /** The definitions that a session from then was shown; undefined where that is not known any more. */
  to(issued: number): ShownTo | undefined;
}

export interface ShownDefinitionsOptions {
  folder: string;
  profile: string;
  log: Pick<Log, 'warn'>;
}

/** Names of tools in one list; a server that has had more of them is not followed. */
const MAX_TOOLS = 5000;

export function createShownDefinitions({ folder, profile, log }: ShownDefinitionsOptions): ShownDefinitions {
  const file = join(folder, `${createHash('sha256').update(profile).digest('hex').slice(0, 32)}.json`);
  let known: { stamp: string; lists: Lists } = { stamp: '', lists: {} };
  let isBroken = false;

  /** Another process may have written it. */
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

/** What is written down after a list; the same object where nothing is to be written. */
function following(before: ShownList | undefined, lesson: Lesson, comparison: Comparison): ShownList {
  const { version, folder } = lesson;
  const tools = Object.fromEntries([...lesson.tools.values()].map(({ tool }) => [tool.name, comparison.digest(tool)]));
  const now = Date.now();
  if (before === undefined) return { version, folder, tools, since: 0 };
  // Lists for two folders may differ, and only one of them is known.
  if (before.folder !== folder) return { version, folder, tools, since: now };
  // A new version is a new beginning.
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
