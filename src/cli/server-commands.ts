/** The rows of the commands that change or show single servers of the config. */
import type { Command, Option } from './command.ts';
import { CONFIG, JSON_OUT, MOVE_SECRETS } from './common-options.ts';

/** In these commands a profile is not only a filter: a server may belong to it alone. */
const IN_PROFILE: Option = { flags: '--profile <name>', doc: 'the server of this profile' };

export const SERVER_COMMANDS: Command[] = [
  {
    usage: 'add <name> [...url]',
    summary: 'add a server: mcpx add <name> -- <command>, <name> <url>, ./server.json or ./bundle.mcpb',
    group: 'Configure',
    options: [
      { flags: '-e, --env <KEY=VALUE>', doc: 'set a variable of the program; may be repeated' },
      {
        flags: '-H, --header <header>',
        doc: 'send a header, such as "Authorization: Bearer ${TOKEN}"; may be repeated',
      },
      {
        flags: '--type <type>',
        doc: 'stdio, http, sse, ws, module or builtin; of a server.json also npm, pypi, oci, nuget or mcpb',
      },
      { flags: '--env-file <file>', doc: 'read variables of the program from a file; may be repeated' },
      { flags: '--set <key=value>', doc: 'answer a question of a server.json or a bundle; may be repeated' },
      { flags: '--profile <name>', doc: 'add the server to this profile only' },
      { flags: '--no-check', doc: 'do not try the server once' },
      { flags: MOVE_SECRETS.flags, doc: 'put literal secrets into ~/.mcpx/secrets.env' },
      CONFIG,
      JSON_OUT,
    ],
    examples: [
      'mcpx add files -- npx -y @modelcontextprotocol/server-filesystem ~/projects',
      "mcpx add github https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'",
      'mcpx add ./bundle.mcpb --set api_key=abc',
    ],
    load: () => import('./add.ts'),
  },
  {
    usage: 'remove <server>',
    summary: 'remove a server from the config, and the unpacked folder of its bundle',
    group: 'Configure',
    options: [CONFIG, IN_PROFILE, JSON_OUT],
    load: () => import('./remove-server.ts'),
  },
  {
    usage: 'enable <server>',
    summary: 'switch a server on',
    group: 'Configure',
    options: [CONFIG, IN_PROFILE, JSON_OUT],
    load: () => import('./enable.ts'),
  },
  {
    usage: 'disable <server>',
    summary: 'switch a server off and keep its entry',
    group: 'Configure',
    options: [CONFIG, IN_PROFILE, JSON_OUT],
    load: () => import('./disable.ts'),
  },
  {
    usage: 'get <server>',
    summary: 'show the entry of a server with secrets masked',
    group: 'Configure',
    options: [CONFIG, IN_PROFILE, JSON_OUT],
    load: () => import('./get-server.ts'),
  },
  {
    usage: 'export [...servers]',
    summary: 'print servers as "mcpServers", to paste into a client',
    group: 'Configure',
    options: [
      CONFIG,
      IN_PROFILE,
      { flags: '--secrets', doc: 'print secrets as they are, not as placeholders' },
      JSON_OUT,
    ],
    examples: ['mcpx export', 'mcpx export files > mcp.json'],
    load: () => import('./export.ts'),
  },
];
