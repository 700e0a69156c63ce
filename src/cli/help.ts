/** `mcpx help`: prints the list of commands, or one command with its options and examples. */
import type { Command, Invocation } from './command.ts';
import { nameOf } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';
import { paintAnswer, print, table } from './output.ts';
import { unknownCommand } from './usage-errors.ts';

export async function run({ args }: Pick<Invocation, 'args'>): Promise<number> {
  const topic = args.join(' ');
  await print(topic === '' ? generalHelp() : topicHelp(topic));
  return 0;
}

export function commandHelp(command: Command): string {
  const options = [...command.options, ...GLOBAL_OPTIONS].map(({ flags, doc }) => [`  ${flags}`, doc]);
  const examples = command.examples?.map((example) => `  ${example}`) ?? [];
  return [
    `mcpx ${command.usage}`,
    '',
    command.summary,
    '',
    paintAnswer('bold', 'Options'),
    table(options),
    ...(examples.length === 0 ? [] : ['', paintAnswer('bold', 'Examples'), ...examples]),
  ].join('\n');
}

export function generalHelp(): string {
  const groups = [...new Set(COMMANDS.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const rows = COMMANDS.filter((command) => command.group === group).map(({ usage, summary }) => [
      `  ${usage}`,
      summary,
    ]);
    return { group, rows };
  });
  const width = Math.max(...sections.flatMap(({ rows }) => rows.map(([usage = '']) => usage.length)));
  return [
    'mcpx: every MCP server you own behind two tools, inspect and exec',
    '',
    `${paintAnswer('bold', 'Usage')}  mcpx <command> [options]`,
    ...sections.flatMap(({ group, rows }) => [
      '',
      paintAnswer('bold', group),
      table(rows.map(([usage = '', summary = '']) => [usage.padEnd(width), summary])),
    ]),
    '',
    'Without a command, mcpx serves over stdio. MCP clients start it this way.',
    'Try it now: mcpx demo',
  ].join('\n');
}

function topicHelp(topic: string): string {
  const exact = COMMANDS.find(({ usage }) => nameOf(usage) === topic);
  if (exact !== undefined) return commandHelp(exact);
  const family = COMMANDS.filter(({ usage }) => nameOf(usage).startsWith(`${topic} `));
  if (family.length > 0) return family.map(commandHelp).join('\n\n');
  throw unknownCommand(topic.split(' '));
}
