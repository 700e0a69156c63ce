/** The table of commands. A new command needs a file and a row here. */
import type { Command, Option } from './command.ts';

const CONFIG: Option = {
  flags: '-c, --config <file>',
  doc: 'config file (default ~/.mcpx/config.json); may be repeated',
};
const PROFILE: Option = {
  flags: '--profile <name>',
  doc: 'profile to use (default: "default", else the first enabled one)',
};
const DEMO: Option = { flags: '--demo', doc: 'use the built-in demo servers instead of a config' };
const JSON_OUT: Option = { flags: '--json', doc: 'print JSON' };
const STRICT: Option = { flags: '--strict', doc: 'treat unknown keys in the config as errors' };
const HOST: Option = { flags: '--host <address>', doc: 'address to listen on (default 127.0.0.1)' };
const PORT: Option = { flags: '--port <number>', doc: 'port to listen on (default 3095, 0 = any free port)' };
const LOG: Option = { flags: '--log-level <level>', doc: 'log level: silent, error, warn, info or debug' };

const YES: Option = { flags: '-y, --yes', doc: 'make the changes without a question' };
const PRINT: Option = { flags: '--print', doc: 'show the changes and make none' };
const MOVE_SECRETS: Option = {
  flags: '--move-secrets',
  doc: 'put literal secrets of imported servers into ~/.mcpx/secrets.env',
};

const SOURCE = [CONFIG, PROFILE, DEMO];

export const GLOBAL_OPTIONS: Option[] = [
  { flags: '-h, --help', doc: 'show help' },
  { flags: '-V, --version', doc: 'show the version; with --json as JSON' },
  { flags: '--no-color', doc: 'disable colours' },
];

export const COMMANDS: Command[] = [
  {
    usage: 'serve [config]',
    summary: 'serve MCP clients over stdio or HTTP',
    group: 'Run',
    options: [
      ...SOURCE,
      { flags: '--http [host:port]', doc: 'serve over HTTP instead of stdio (default 127.0.0.1:3095)' },
      ...[HOST, PORT].map(({ flags, doc }) => ({ flags, doc: `${doc}; implies --http` })),
      { flags: '--front <kind>', doc: 'compact (two tools, the default) or aggregate (every tool)' },
      { flags: '--watch', doc: 'reload the config when it changes' },
      STRICT,
      LOG,
    ],
    examples: ['mcpx serve', 'mcpx serve ./mcp.json --http 127.0.0.1:8080'],
    load: () => import('./serve.ts'),
  },
  {
    usage: 'demo',
    summary: 'start a gateway with built-in servers; it needs no config',
    group: 'Run',
    options: [HOST, PORT, LOG],
    load: () => import('./demo.ts'),
  },
  {
    usage: 'list',
    summary: 'list the configured servers with their state, tools and last error',
    group: 'Use',
    options: [...SOURCE, { flags: '--check', doc: 'start every server once and store its lists' }, JSON_OUT],
    examples: ['mcpx list', 'mcpx list --check'],
    load: () => import('./list.ts'),
  },
  {
    usage: 'tools [server]',
    summary: 'list the tools of all servers or of one server, or search for tools',
    group: 'Use',
    options: [
      ...SOURCE,
      { flags: '-s, --search <query>', doc: 'list the tools that match, best match first; English or Chinese' },
      JSON_OUT,
    ],
    examples: ['mcpx tools', 'mcpx tools -s "what time is it"'],
    load: () => import('./tools.ts'),
  },
  {
    usage: 'inspect <target>',
    summary: 'show the tool signatures of a server, or one tool in full: mcpx inspect server[.tool]',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    examples: ['mcpx inspect --demo time', 'mcpx inspect --demo time.now'],
    load: () => import('./inspect.ts'),
  },
  {
    usage: 'exec <target> [...pairs]',
    summary: 'call a tool: mcpx exec server.tool key=value key:=json',
    group: 'Use',
    options: [
      ...SOURCE,
      JSON_OUT,
      { flags: '--args <json>', doc: 'arguments: a JSON object, @file, or - for stdin' },
      { flags: '--select <expression>', doc: 'print only this part of the result (a JMESPath expression)' },
      { flags: '-y, --yes', doc: 'skip the confirmation that "policy.confirm" requires' },
    ],
    examples: ["mcpx exec --demo math.calculate expression='6 * 7'"],
    load: () => import('./exec.ts'),
  },
  {
    usage: 'resources [server]',
    summary: 'list the resources of all servers or of one server',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    load: () => import('./resources.ts'),
  },
  {
    usage: 'read <uri>',
    summary: 'write a resource, text or binary, to stdout',
    group: 'Use',
    options: [
      ...SOURCE,
      { flags: '--server <name>', doc: 'the server to read from, if several have the URI' },
      JSON_OUT,
    ],
    load: () => import('./read.ts'),
  },
  {
    usage: 'prompts [server]',
    summary: 'list the prompts of all servers or of one server',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    load: () => import('./prompts.ts'),
  },
  {
    usage: 'prompt <prompt> [...pairs]',
    summary: 'get a prompt: mcpx prompt server.prompt key=value',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    load: () => import('./prompt.ts'),
  },
  {
    usage: 'status',
    summary: 'show the servers of a running gateway',
    group: 'Use',
    options: [
      CONFIG,
      { flags: '--url <address>', doc: 'URL of the gateway (default: the address in the config)' },
      JSON_OUT,
    ],
    load: () => import('./status.ts'),
  },
  {
    usage: 'logs [server]',
    summary: 'print what servers wrote to stderr, and the log of mcpx',
    group: 'Use',
    options: [
      CONFIG,
      { flags: '-f, --follow', doc: 'print new lines as they come, until Ctrl-C' },
      { flags: '-n, --lines <number>', doc: 'number of last lines (default 50)' },
      JSON_OUT,
    ],
    examples: ['mcpx logs', 'mcpx logs github -f'],
    load: () => import('./logs.ts'),
  },
  {
    usage: 'tokens',
    summary: 'show the tokens that a client reads before the first question, without and with mcpx',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    examples: ['mcpx tokens --demo'],
    load: () => import('./tokens.ts'),
  },
  {
    usage: 'stats',
    summary: 'show the tokens that mcpx has saved so far',
    group: 'Use',
    options: [JSON_OUT],
    load: () => import('./stats.ts'),
  },
  {
    usage: 'init',
    summary: 'import the servers of your clients, and connect mcpx to the clients instead of them',
    group: 'Configure',
    options: [CONFIG, YES, PRINT, MOVE_SECRETS],
    examples: ['mcpx init', 'mcpx init --print'],
    load: () => import('./init.ts'),
  },
  {
    usage: 'import [source]',
    summary: 'copy servers from a client, a file, stdin (-) or all clients into the config',
    group: 'Configure',
    options: [CONFIG, YES, PRINT, MOVE_SECRETS, JSON_OUT],
    examples: ['mcpx import cursor', 'mcpx import ./mcp.json', 'mcpx import --print'],
    load: () => import('./import.ts'),
  },
  {
    usage: 'setup [client]',
    summary: 'connect mcpx to a client, or list the clients',
    group: 'Configure',
    options: [
      CONFIG,
      { flags: '--all', doc: 'all clients that were found' },
      { flags: '--replace', doc: 'also take out the servers that mcpx has' },
      { flags: '--scope <scope>', doc: 'user (default) or project: the file of the client in the working directory' },
      PRINT,
      { flags: '--undo', doc: 'restore the files as they were before mcpx changed them' },
      YES,
      JSON_OUT,
    ],
    examples: ['mcpx setup', 'mcpx setup claude-code', 'mcpx setup --all --replace', 'mcpx setup --all --undo'],
    load: () => import('./setup.ts'),
  },
  {
    usage: 'login [server]',
    summary: 'sign in to a server with OAuth',
    group: 'Configure',
    options: [
      CONFIG,
      PROFILE,
      { flags: '--no-browser', doc: 'print the address of the sign-in page and open nothing' },
      { flags: '--device', doc: 'sign in on another device, with a code' },
      { flags: '--scope <scopes>', doc: 'request these scopes, separated by spaces' },
      { flags: '--list', doc: 'list the sign-ins, their scopes and expiry' },
      JSON_OUT,
    ],
    examples: ['mcpx login linear', 'mcpx login --list'],
    load: () => import('./login.ts'),
  },
  {
    usage: 'logout <server>',
    summary: 'revoke and delete the tokens of a sign-in',
    group: 'Configure',
    options: [CONFIG, PROFILE],
    load: () => import('./logout.ts'),
  },
  {
    usage: 'lock',
    summary: 'record the definition of every tool, and show or accept changes',
    group: 'Configure',
    options: [
      CONFIG,
      PROFILE,
      { flags: '--accept [target]', doc: 'accept the changes of all servers, of one server, or of server.tool' },
      JSON_OUT,
    ],
    examples: ['mcpx lock', 'mcpx lock --accept github.create_issue'],
    load: () => import('./lock.ts'),
  },
  {
    usage: 'diff [target]',
    summary: 'show differences from the lock file: mcpx diff server[.tool]; exit code 1 if there are any',
    group: 'Configure',
    options: [CONFIG, PROFILE, JSON_OUT],
    load: () => import('./diff.ts'),
  },
  {
    usage: 'config path',
    summary: 'print the path of the config file',
    group: 'Configure',
    options: [CONFIG, JSON_OUT],
    load: () => import('./config-path.ts'),
  },
  {
    usage: 'config show',
    summary: 'print the effective config with secrets masked',
    group: 'Configure',
    options: [CONFIG, JSON_OUT],
    load: () => import('./config-show.ts'),
  },
  {
    usage: 'config validate [file]',
    summary: 'check a config without starting its servers',
    group: 'Configure',
    options: [CONFIG, STRICT, { flags: '--check', doc: 'also start every server once and store its lists' }, JSON_OUT],
    load: () => import('./config-validate.ts'),
  },
  {
    usage: 'config schema',
    summary: 'print the JSON Schema of the config file',
    group: 'Configure',
    options: [JSON_OUT],
    load: () => import('./config-schema.ts'),
  },
  {
    usage: 'help [...topic]',
    summary: 'show help for a command or a topic',
    group: 'Help',
    options: [JSON_OUT],
    examples: ['mcpx help exec', 'mcpx help environment'],
    load: () => import('./help.ts'),
  },
  {
    usage: 'completion <shell>',
    summary: 'print the completion script of bash, zsh, fish or powershell',
    group: 'Help',
    options: [],
    examples: ['eval "$(mcpx completion bash)"', 'mcpx completion fish | source'],
    load: () => import('./completion/completion.ts'),
  },
  {
    usage: 'man',
    summary: 'print the manual page in the format of man',
    group: 'Help',
    options: [],
    examples: ['mcpx man > mcpx.1', 'mcpx man | man -l -'],
    load: async () => ({ run: (await import('./help.ts')).printManualPage }),
  },
];
