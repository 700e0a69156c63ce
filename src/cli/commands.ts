/** The table of commands; adding one is a file and a row here. */
import { McpxError } from '../errors.ts';
import { nearest } from '../render/text.ts';
import { type Command, nameOf, type Option } from './command.ts';

const CONFIG: Option = {
  flags: '-c, --config <file>',
  doc: 'config file (default ~/.mcpx/config.json); may be repeated',
};
const PROFILE: Option = {
  flags: '--profile <name>',
  doc: 'profile to use (default: "default", else the first enabled one)',
};
const DEMO: Option = { flags: '--demo', doc: 'use the built-in demo servers instead of a config' };
const JSON_OUT: Option = { flags: '--json', doc: 'machine-readable output' };
const STRICT: Option = { flags: '--strict', doc: 'warnings about the config are errors' };
const HOST: Option = { flags: '--host <address>', doc: 'address to listen on (default 127.0.0.1)' };
const PORT: Option = { flags: '--port <number>', doc: 'port to listen on (default 3095, 0 = any free one)' };
const LOG: Option = { flags: '--log-level <level>', doc: 'silent, error, warn, info or debug' };

const SOURCE = [CONFIG, PROFILE, DEMO];

export const GLOBAL_OPTIONS: Option[] = [
  { flags: '-h, --help', doc: 'show help' },
  { flags: '-V, --version', doc: 'show the version' },
  { flags: '--no-color', doc: 'no colours' },
];

export const COMMANDS: Command[] = [
  {
    usage: 'serve [config]',
    summary: 'run the proxy for an MCP client, over stdio or HTTP',
    group: 'Run',
    options: [
      ...SOURCE,
      { flags: '--http [host:port]', doc: 'listen on HTTP instead of stdio (default 127.0.0.1:3095)' },
      ...[HOST, PORT].map(({ flags, doc }) => ({ flags, doc: `${doc}; implies --http` })),
      { flags: '--front <kind>', doc: 'compact (two tools, the default) or aggregate (all tools)' },
      { flags: '--watch', doc: 'read the config again when it changes' },
      STRICT,
      LOG,
    ],
    examples: ['mcpx serve', 'mcpx serve ./mcp.json --http 127.0.0.1:8080'],
    load: () => import('./serve.ts'),
  },
  {
    usage: 'demo',
    summary: 'a running gateway on built-in servers: nothing to install, nothing to configure',
    group: 'Run',
    options: [HOST, PORT, LOG],
    load: () => import('./demo.ts'),
  },
  {
    usage: 'list',
    summary: 'the configured servers',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    load: () => import('./list.ts'),
  },
  {
    usage: 'tools [server]',
    summary: 'every tool of every server, or of one; or those that fit a question',
    group: 'Use',
    options: [
      ...SOURCE,
      { flags: '-s, --search <question>', doc: 'only what fits it, best first, in English or Chinese' },
      JSON_OUT,
    ],
    examples: ['mcpx tools', 'mcpx tools -s "what time is it"'],
    load: () => import('./tools.ts'),
  },
  {
    usage: 'inspect <target>',
    summary: 'the signatures of a server, or one tool in full: mcpx inspect server[.tool]',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    examples: ['mcpx inspect --demo time', 'mcpx inspect --demo time.now'],
    load: () => import('./inspect.ts'),
  },
  {
    usage: 'exec <target> [...pairs]',
    summary: 'run a tool: mcpx exec server.tool key=value key:=json',
    group: 'Use',
    options: [
      ...SOURCE,
      JSON_OUT,
      { flags: '--args <json>', doc: 'arguments as a JSON object, @file or - for stdin' },
      { flags: '--select <expression>', doc: 'print only this part of the result, by JMESPath' },
      { flags: '-y, --yes', doc: 'run it without asking, where "policy.confirm" would ask' },
    ],
    examples: ["mcpx exec --demo math.calculate expression='6 * 7'"],
    load: () => import('./exec.ts'),
  },
  {
    usage: 'resources [server]',
    summary: 'every resource of every server, or of one',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    load: () => import('./resources.ts'),
  },
  {
    usage: 'read <uri>',
    summary: 'a resource, text or not, on stdout',
    group: 'Use',
    options: [...SOURCE, { flags: '--server <name>', doc: 'the server that has it, where several do' }, JSON_OUT],
    load: () => import('./read.ts'),
  },
  {
    usage: 'prompts [server]',
    summary: 'every prompt of every server, or of one',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    load: () => import('./prompts.ts'),
  },
  {
    usage: 'prompt <target> [...pairs]',
    summary: 'a prompt filled in: mcpx prompt server.prompt key=value',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    load: () => import('./prompt.ts'),
  },
  {
    usage: 'status',
    summary: 'what a running gateway says of its servers',
    group: 'Use',
    options: [CONFIG, { flags: '--url <address>', doc: 'the gateway (default: the address in the config)' }, JSON_OUT],
    load: () => import('./status.ts'),
  },
  {
    usage: 'tokens',
    summary: 'what a client reads before the first question, without mcpx and with it',
    group: 'Use',
    options: [...SOURCE, JSON_OUT],
    examples: ['mcpx tokens --demo'],
    load: () => import('./tokens.ts'),
  },
  {
    usage: 'stats',
    summary: 'what mcpx has saved so far: calls, look-ups, results, tokens',
    group: 'Use',
    options: [JSON_OUT],
    load: () => import('./stats.ts'),
  },
  {
    usage: 'lock',
    summary: 'write down what every tool is, and show or accept what changed since',
    group: 'Configure',
    options: [
      CONFIG,
      PROFILE,
      { flags: '--accept [target]', doc: 'accept the changes: of everything, of a server, or of server.tool' },
      JSON_OUT,
    ],
    examples: ['mcpx lock', 'mcpx lock --accept github.create_issue'],
    load: () => import('./lock.ts'),
  },
  {
    usage: 'diff [target]',
    summary: 'how tools differ from what is locked: mcpx diff server[.tool]; exit code 1 where they do',
    group: 'Configure',
    options: [CONFIG, PROFILE, JSON_OUT],
    load: () => import('./diff.ts'),
  },
  {
    usage: 'config path',
    summary: 'where the config is',
    group: 'Configure',
    options: [CONFIG, JSON_OUT],
    load: () => import('./config-path.ts'),
  },
  {
    usage: 'config show',
    summary: 'the config as mcpx understands it, secrets masked',
    group: 'Configure',
    options: [CONFIG],
    load: () => import('./config-show.ts'),
  },
  {
    usage: 'config validate [file]',
    summary: 'check a config without starting anything',
    group: 'Configure',
    options: [
      CONFIG,
      STRICT,
      { flags: '--check', doc: 'also start every server once, and store what it offers' },
      JSON_OUT,
    ],
    load: () => import('./config-validate.ts'),
  },
  {
    usage: 'config schema',
    summary: 'the JSON Schema of the config file',
    group: 'Configure',
    options: [],
    load: () => import('./config-schema.ts'),
  },
  {
    usage: 'help [...topic]',
    summary: 'help on a command',
    group: 'Help',
    options: [],
    load: () => import('./help.ts'),
  },
];

/** For words that begin with no command: the nearest one, or the help of the family they begin. */
export function unknownCommand([first = '', second]: string[]): McpxError {
  const names = COMMANDS.map(({ usage }) => nameOf(usage));
  const family = names.filter((name) => name.startsWith(`${first} `)).map((name) => name.slice(first.length + 1));
  if (family.length > 0 && second === undefined) {
    const words = family.join(', ');
    return new McpxError('usage', `"${first}" needs one of: ${words}`, { hint: `mcpx help ${first}` });
  }
  const typed = family.length > 0 ? `${first} ${second}` : first;
  const [close] = nearest(typed, [...names, ...names.map((name) => name.split(' ')[0] ?? '')]);
  const fallback = family.length > 0 ? `mcpx help ${first}` : 'mcpx help';
  return new McpxError('usage', `there is no command "${typed}"`, {
    hint: close === undefined || close === first ? fallback : `mcpx ${close}`,
  });
}
