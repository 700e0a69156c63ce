/** Reads the words of `mcpx add`: which server is added, and from what. It touches no file. */
import { listText } from '../config/json-data.ts';
import { nearest } from '../config/nearest.ts';
import { isServerName, NAME_RULE, serverName } from '../config/server-names.ts';
import { McpxError } from '../errors.ts';
import { shellWord } from './shell-word.ts';

export type AddRequest =
  | { kind: 'command'; name: string; command: string; args: string[] }
  | { kind: 'url'; name: string; url: string }
  | { kind: 'module'; name: string; file: string }
  | { kind: 'builtin'; name: string; toolbox: string }
  | FileRequest;

/** A `server.json` of the MCP registry or a bundle; without a name, the file has one. */
export interface FileRequest {
  kind: 'registry' | 'bundle';
  name: string | undefined;
  file: string;
}

export interface AddWords {
  /** The words before `--`. */
  before: string[];
  /** The words after `--`. */
  passed: string[] | undefined;
  type: string | undefined;
}

/** Throws `usage` with the command line that was probably meant. */
export function readAddRequest({ before, passed, type }: AddWords): AddRequest {
  const [first, second, ...rest] = before;
  if (passed !== undefined) return commandRequest(before, passed);
  if (first === undefined) throw usage('"add" needs a name', 'mcpx help add');
  if (second === undefined) return fileRequest(first, undefined) ?? bareRequest(first, type);
  if (rest.length > 0) throw tooMany(first, second, rest);
  const name = checkedName(first);
  if (type === 'module') return { kind: 'module', name, file: second };
  if (type === 'builtin') return { kind: 'builtin', name, toolbox: second };
  const file = fileRequest(second, name);
  if (file !== undefined) return file;
  if (isUrl(second)) return { kind: 'url', name, url: second };
  const meant = intendedUrl(second);
  if (meant !== undefined) throw usage(`"${second}" is not a URL`, `mcpx add ${name} ${meant}`);
  const address = /^[a-z][a-z\d+.-]*:\/\/(.*)$/i.exec(second)?.[1];
  if (address !== undefined) {
    throw usage(
      `"${second}" is not the URL of an MCP server: it begins with ${listText(SCHEMES.map((one) => `${one}://`))}`,
      `mcpx add ${name} https://${address}`,
    );
  }
  throw usage(`"${second}" is neither a URL nor a file that mcpx can add`, `mcpx add ${name} -- ${second}`);
}

function commandRequest(before: string[], passed: string[]): AddRequest {
  const [name, ...extra] = before;
  const [command, ...args] = passed;
  const shown = passed.map(shellWord).join(' ');
  if (name === undefined) throw usage('"add" needs a name before "--"', `mcpx add my-server -- ${shown}`);
  if (command === undefined || command === '') {
    throw usage('no command follows "--"', `mcpx add ${name} -- npx -y <package>`);
  }
  if (isUrl(name)) throw usage('a server has a command or a URL, not both', `mcpx add ${nameOfUrl(name)} ${name}`);
  const [other] = extra;
  if (other !== undefined && isUrl(other)) {
    throw usage(
      'a server has a command or a URL, not both',
      `mcpx add ${name} ${other}, or mcpx add ${name} -- ${shown}`,
    );
  }
  if (other !== undefined) throw usage(`"add" does not take "${other}"`, `mcpx add ${name} -- ${shown}`);
  return { kind: 'command', name: checkedName(name), command, args };
}

/** One word that is no file: a built-in server, a URL without a name, or a name alone. */
function bareRequest(word: string, type: string | undefined): AddRequest {
  if (type === 'builtin') return { kind: 'builtin', name: checkedName(word), toolbox: word };
  const url = isUrl(word) || !word.includes('://') ? word : (intendedUrl(word) ?? word);
  if (isUrl(url)) throw usage('a URL needs a name before it', `mcpx add ${nameOfUrl(url)} ${url}`);
  const name = checkedName(word);
  throw usage(
    `server "${name}" needs a command or a URL`,
    `mcpx add ${name} -- npx -y <package>, or mcpx add ${name} https://…`,
  );
}

const BUNDLE = /\.(?:mcpb|dxt)$/i;

function fileRequest(word: string, name: string | undefined): AddRequest | undefined {
  const isRemote = isUrl(word);
  if (isRemote && (BUNDLE.test(word) || /\/server\.json$/.test(word))) {
    const file = word.split('/').at(-1) ?? '';
    throw usage(
      `mcpx downloads no files, so it cannot add "${file}" from a URL`,
      `curl -LO ${word} && mcpx add ./${file}`,
    );
  }
  if (isRemote) return undefined;
  if (BUNDLE.test(word)) return { kind: 'bundle', name, file: word };
  return /\.json$/i.test(word) ? { kind: 'registry', name, file: word } : undefined;
}

function tooMany(name: string, second: string, rest: string[]): McpxError {
  if (isUrl(second)) return usage(`"add" does not take "${rest[0]}"`, `mcpx add ${name} ${second}`);
  return usage(
    'the command of a server follows "--"',
    `mcpx add ${name} -- ${[second, ...rest].map(shellWord).join(' ')}`,
  );
}

/** Throws `usage` for a name that `server.tool` or a URL path could not hold. */
export function checkedName(name: string): string {
  if (isServerName(name)) return name;
  throw usage(
    `${JSON.stringify(name)} cannot be the name of a server: a name has ${NAME_RULE}`,
    `mcpx add ${serverName(name).name} …`,
  );
}

const SCHEMES = ['http', 'https', 'ws', 'wss'];

function isUrl(text: string): boolean {
  return /^(?:https?|wss?):\/\/[^/\s]/i.test(text) && URL.canParse(text);
}

/** Returns the URL that a mistyped one probably means; undefined if the text looks like something else. */
export function intendedUrl(text: string): string | undefined {
  const [, scheme, rest = ''] = /^([a-z][a-z\d+.-]*):\/{0,3}(?!\d+(?:\/|$))(\S+)$/i.exec(text) ?? [];
  if (scheme !== undefined && scheme.length > 1) {
    const close = nearest(scheme, SCHEMES);
    const meant = close === undefined ? undefined : `${close}://${rest}`;
    return meant !== undefined && isUrl(meant) ? meant : undefined;
  }
  const isLocal = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/\S*)?$/i.test(text);
  const isHost =
    /^(?:[a-z\d-]+\.)+[a-z]{2,}(?::\d+)?(?:\/\S*)?$/i.test(text) &&
    !/^[^/]*\.(?:[cm]?[jt]s|py|sh|exe|rb|jar)$/i.test(text);
  if (isLocal) return `http://${text}`;
  return isHost ? `https://${text}` : undefined;
}

/** Returns a name for the server of a URL: `https://mcp.linear.app/sse` becomes `linear`. */
function nameOfUrl(url: string): string {
  const labels = new URL(url).hostname.split('.').filter((label) => !/^(?:www|mcp|api)$/.test(label));
  return serverName(labels.at(-2) ?? labels[0] ?? 'server').name;
}

/** Reads `KEY=VALUE` of `-e`. */
export function readVariable(text: string): [string, string] {
  const [, name, value] = /^([^\s=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  const known = /^[A-Za-z_]\w*$/.test(text) ? text : 'KEY';
  throw usage(
    `"${known === text ? text : 'the value of -e'}" is not KEY=VALUE`,
    `-e ${known}=value, or -e '${known}=\${${known}}' to read it from the environment`,
  );
}

/** Reads `Name: value` of `-H`. */
export function readHeader(text: string): [string, string] {
  const [, name, value] = /^([^\s:]+)\s*:\s*([\s\S]*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usage('the value of -H is not "Name: value"', '-H "Authorization: Bearer ${TOKEN}"');
}

/** Reads `key=value` of `--set`. */
export function readAnswer(text: string): [string, string] {
  const [, key, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (key !== undefined && value !== undefined) return [key, value];
  throw usage('the value of --set is not key=value', '--set key=value');
}

function usage(message: string, hint: string): McpxError {
  return new McpxError('usage', message, { hint });
}
