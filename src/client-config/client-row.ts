/** Types of the table of MCP clients: where a client keeps its servers, and in which form. */
import type { Path } from '../config/json-data.ts';

/** A path with `/`. `~` is the home folder, `{userData}` the folder of applications, `${NAME:-path}` a variable with its default. */
export type PathTemplate = string;

/** One installation of a client: the first of these files that exists is used. */
export interface Installation {
  files: readonly PathTemplate[];
  /** The folder that shows that the client is installed (default: the folder of the first file); null if only a file shows it. */
  folder?: PathTemplate | null;
}

type BySystem<T> = T | { linux: T; darwin: T; win32: T };

/** The form in which a client keeps a server that is a program. */
export type EntryForm =
  | 'plain'
  | 'typed'
  | 'always-loaded'
  | 'local-list'
  | 'local-tools'
  | 'transport'
  | 'goose'
  | 'zed';

/** Differences in the meaning of an entry, from one client to another. */
export interface ClientDialect {
  /** A bare number as `timeout` is seconds. */
  seconds?: true;
  /** `url` without a type means the old HTTP+SSE transport. */
  bareUrl?: 'sse';
  /** `$VAR` and `%VAR%` are variables. */
  dollar?: true;
}

export interface ClientRow {
  title: string;
  user: BySystem<readonly Installation[]>;
  /** Further files that hold servers; a `*` stands for any name. The client's entry for mcpx is never written there. */
  more?: readonly PathTemplate[];
  /** Files in the folder of a project: the first one that exists, else the first one. */
  project?: readonly string[];
  /** The keys under which the servers are (default `mcpServers`). */
  container?: Path;
  /** Other keys that the reader needs. */
  beside?: readonly string[];
  /** YAML files of this client hold a list and not a map. */
  list?: 'yaml';
  /** Some files are the map of servers itself. */
  bare?: true;
  /** The default is `plain`. */
  form?: EntryForm;
  dialect?: ClientDialect;
  /** Names of the client's processes, without `.exe`. */
  processes: readonly string[];
  /** The step after which a running client uses the change: a restart (default) or a new session. */
  reload?: 'restart' | 'session';
}

export type FullRow = ClientRow & Required<Pick<ClientRow, 'container' | 'form' | 'reload'>>;
