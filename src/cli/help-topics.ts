/** The topics of `mcpx help` beside the commands; the man page has them too. */
import { CLIENT_TABLE } from '../client-config/client-table.ts';

/** A paragraph, commands to type with their effects, or terms with their meanings. */
export type HelpPart = string | { terms: readonly (readonly [term: string, text: string])[] };

export interface Topic {
  summary: string;
  parts: readonly HelpPart[];
}

/** The meanings of the exit codes of `src/errors.ts`. */
const EXIT_MEANINGS = [
  ['0', 'success'],
  ['1', 'failure or timeout; for diff and lock: there are differences'],
  ['2', 'the command line or the arguments of the tool are invalid'],
  ['3', 'credentials are missing or were rejected'],
  ['4', 'a server cannot be started or reached'],
  ['5', 'the tool returned an error'],
  ['6', 'the config is missing or invalid'],
  ['7', 'the server, tool or profile does not exist'],
  ['130', 'interrupted'],
] as const;

/** The variables that mcpx reads. */
const VARIABLES = [
  ['MCPX_CONFIG', 'the config file (default ~/.mcpx/config.json)'],
  ['MCPX_HOME', 'the folder for all files of mcpx (default ~/.mcpx)'],
  ['MCPX_PROFILE', 'the profile to use'],
  ['MCPX_FRONT', 'compact or aggregate'],
  ['MCPX_HOST', 'the address to listen on'],
  ['MCPX_PORT', 'the port to listen on'],
  ['MCPX_TOKEN', 'the token that clients of the gateway must send; mcpx status sends it'],
  ['MCPX_LOG_LEVEL', 'silent, error, warn, info or debug'],
  ['MCPX_LOG_FILE', 'a file for the log, beside stderr'],
  ['MCPX_LOG_FORMAT', 'text or json'],
  ['MCPX_OFFLINE', '1 uses no network except loopback'],
  ['MCPX_NO_INPUT', '1 never asks on the terminal'],
  ['MCPX_LANG', 'en or zh: the language of messages (default: LC_ALL, LC_MESSAGES or LANG)'],
  ['MCPX_INPUT_<ID>', 'the value of ${input:id} in the config'],
] as const;

const FOREIGN_VARIABLES = [
  ['NO_COLOR', 'disables colours'],
  ['CI', 'like MCPX_NO_INPUT, and no progress is shown'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'the proxy for servers with a URL'],
] as const;

export const TOPICS = {
  config: {
    summary: 'the config file',
    parts: [
      'The config is ~/.mcpx/config.json, JSON with comments. It has the key "mcpServers", as the configs of most clients have, and settings of mcpx. Options override environment variables, and those override the file. A config in the working directory is never loaded by itself.',
      {
        terms: [
          ['mcpx config path', 'print the path of the file'],
          ['mcpx config show', 'print the effective config with secrets masked'],
          ['mcpx config set', 'set one value; comments stay'],
          ['mcpx config unset', 'remove one value; comments stay'],
          ['mcpx config validate', 'check the file without starting servers'],
          ['mcpx config schema', 'print the JSON Schema for editors'],
        ],
      },
      'A local server has "command" and "args", a remote one has "url". Values may contain ${VARIABLE}, ${VARIABLE:-default} and ${input:id}; the values of inputs are in ~/.mcpx/secrets.env.',
    ],
  },
  environment: {
    summary: 'the environment variables',
    parts: [
      'Variables override the config file, and options override both.',
      { terms: VARIABLES },
      'mcpx also follows these variables:',
      { terms: FOREIGN_VARIABLES },
    ],
  },
  'exit-codes': {
    summary: 'the exit codes of commands',
    parts: [{ terms: EXIT_MEANINGS }],
  },
  clients: {
    summary: 'the clients that mcpx can be connected to',
    parts: [
      {
        terms: [
          ['mcpx init', 'import the servers of all clients, and connect mcpx to the clients instead'],
          ['mcpx setup', 'list the clients and their state'],
          ['mcpx setup <client>', 'connect one client'],
          ['mcpx import <client>', 'copy the servers of one client into the config'],
          ['mcpx setup --all --undo', 'restore the files of all clients'],
        ],
      },
      'A client without a command here starts mcpx serve over stdio, or connects to http://127.0.0.1:3095/mcp if mcpx serve --http runs. The names of the clients are:',
      { terms: Object.entries(CLIENT_TABLE).map(([id, { title }]) => [id, title] as const) },
    ],
  },
  profiles: {
    summary: 'named sets of servers with their own rules',
    parts: [
      'A profile is a named set of servers with its own rules about tools, resources and prompts. Without profiles in the config, the profile "default" has all servers. Clients of a profile cannot see anything that it denies.',
      '"profiles": { "readonly": { "servers": ["github"], "tools": { "deny": ["github.delete_*"] } } }',
      {
        terms: [
          ['mcpx serve --profile readonly', 'serve one profile over stdio'],
          ['mcpx tools --profile readonly', 'list the tools that its clients can see'],
          ['/mcp/readonly', 'the path of the profile on the HTTP gateway'],
        ],
      },
    ],
  },
  security: {
    summary: 'secrets, tokens, confirmations and changed tools',
    parts: [
      'Secrets: mcpx writes no secret into logs, errors, status or stored lists. A child process gets a minimal environment. Put secrets into ~/.mcpx/secrets.env and refer to them as ${input:id}.',
      'The gateway listens on 127.0.0.1. Without a token, no other address is accepted; Host and Origin of each request are checked.',
      {
        terms: [
          ['"policy": {"confirm": "destructive"}', 'ask before a tool runs that is not declared read-only'],
          ['"policy": {"deny": ["*.delete_*"]}', 'hide tools from every client'],
          ['"lock": "enforce"', 'block tools whose definitions have changed until mcpx lock accepts them'],
          ['"audit": {"file": "audit.jsonl"}', 'record every call'],
        ],
      },
      'mcpx contacts only the configured servers and the proxy of the environment. There is no telemetry and no update check.',
    ],
  },
} as const satisfies Record<string, Topic>;
