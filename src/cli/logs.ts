/** `mcpx logs`: prints the stored output of servers and the log of mcpx, and follows them with -f. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { environmentOf } from '../config/environment.ts';
import { homeFolder } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import { followFiles, lastLines } from '../observe/log-tail.ts';
import { nearest } from '../render/text.ts';
import { stderrFile } from '../upstream/process/stderr-file.ts';
import { isRecord } from '../wire/message.ts';
import type { Flags, Invocation } from './command.ts';
import { readConfig } from './command-app.ts';
import { paintAnswer, print, printJson } from './output.ts';
import { status } from './status-lines.ts';

/** The name of the log of mcpx itself, unless a server has this name. */
const OWN = 'mcpx';
/** Number of lines without -n. */
const LINES = 50;

interface LogLine {
  /** An ISO date; undefined if the line has none. */
  time?: string;
  /** The server, or `mcpx`. */
  source: string;
  text: string;
}

export async function run({ args, flags, stop }: Invocation): Promise<number> {
  const count = readCount(flags);
  const config = readConfig(flags);
  const [only] = args;
  const follows = flags.has('follow');
  const files = () => sourcesOf(config, only);
  if (files().size === 0) {
    if (!follows) return noteNothing(config, only);
    status.info('nothing is stored yet; waiting for the first line. Ctrl-C ends');
  }
  const found = [...files()].map(([source, file]) => ({ source, ...lastLines(file, count) }));
  const lines = inOrder(found.map(({ source, lines }) => lines.map((line) => parseLine(source, line))));
  const shown = lines.slice(Math.max(0, lines.length - count));
  const isJson = flags.has('json');
  const isSeveral = only === undefined;
  if (!follows) {
    if (isJson) await printJson(shown);
    else if (shown.length > 0) await print(shown.map((line) => lineText(line, isSeveral)).join('\n'));
    return 0;
  }
  const tell = (line: LogLine) => print(isJson ? JSON.stringify(line) : lineText(line, isSeveral));
  for (const line of shown) await tell(line);
  const seen = new Map(found.map(({ source, end }) => [source, end]));
  await followFiles({ files, shown: seen, stop, line: (source, line) => tell(parseLine(source, line)) });
  return 0;
}

function readCount(flags: Flags): number {
  const given = flags.value('lines');
  if (given === undefined) return LINES;
  if (/^\d{1,7}$/.test(given)) return Number(given);
  throw new McpxError('usage', `"${given}" is not a number of lines`, { hint: 'mcpx logs -n 100' });
}

/** Returns the existing files by their source. Throws `not_found` for a name that is no server and has no file. */
function sourcesOf(config: Config, only: string | undefined): Map<string, string> {
  const folder = join(homeFolder(environmentOf()), 'logs');
  const servers = new Set(config.profiles.flatMap(({ servers }) => servers.map(({ name }) => name)));
  const own = config.settings.log.file;
  const all = new Map([...servers].map((name) => [name, stderrFile(folder, name)]));
  if (own !== null && !all.has(OWN)) all.set(OWN, own);
  if (only !== undefined && !all.has(only)) {
    const former = stderrFile(folder, only);
    // A server that was removed from the config may still have a file.
    if (!existsSync(former) && only !== OWN) throw noLog(only, [...servers]);
    all.set(only, former);
  }
  const wanted = only === undefined ? [...all] : [...all].filter(([name]) => name === only);
  return new Map(wanted.filter(([, file]) => existsSync(file)));
}

function noLog(name: string, servers: string[]): McpxError {
  const [close] = nearest(name, servers);
  const hint = close === undefined ? 'mcpx list' : `mcpx logs ${close}`;
  return new McpxError('not_found', `there is no server "${name}" and no output of one`, { hint });
}

/** Says why there is nothing, and how there will be something. */
function noteNothing({ settings, files }: Config, only: string | undefined): number {
  if (only === OWN && settings.log.file === null) {
    const set = files.length === 0 ? '' : '; to store it, set "log.file" in the config';
    status.info(`the log of mcpx is not stored, it goes to stderr only${set}`);
  } else if (only === undefined) {
    status.info('nothing is stored yet: no server has written to stderr, and "log.file" is not set or empty');
  } else {
    status.info(`nothing is stored for server "${only}": it was never started, or has written nothing to stderr`);
  }
  return 0;
}

/** Merges the lines of several files by time. A line without a time stays behind the one before it. */
function inOrder(files: LogLine[][]): LogLine[] {
  const timed = files.flatMap((lines) => {
    let last = '';
    return lines.map((line) => {
      last = line.time ?? last;
      return { line, last };
    });
  });
  return timed.sort((a, b) => (a.last < b.last ? -1 : a.last > b.last ? 1 : 0)).map(({ line }) => line);
}

const TIMED = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (.*)$/s;

/** Reads a line of either format of the log. */
function parseLine(source: string, line: string): LogLine {
  const [, time, text = line] = TIMED.exec(line) ?? [];
  if (time !== undefined) return { time, source, text };
  if (!line.startsWith('{')) return { source, text };
  try {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value) || typeof value.time !== 'string') return { source, text };
    const { time: at, ...rest } = value;
    return { time: at as string, source, text: JSON.stringify(rest) };
  } catch {
    return { source, text };
  }
}

function lineText({ time, source, text }: LogLine, isSeveral: boolean): string {
  const head = [...(time === undefined ? [] : [time]), ...(isSeveral ? [source] : [])].join(' ');
  return head === '' ? text : `${paintAnswer('dim', head)} ${text}`;
}
