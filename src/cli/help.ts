/** `mcpx help`: prints the list of commands, one command with its options and examples, or a topic. */
import { McpxError } from '../errors.ts';
import { definitionColumn, definitionList, wrapText } from '../render/columns.ts';
import { nearest } from '../render/text.ts';
import type { Command, Invocation } from './command.ts';
import { nameOf } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';
import { type HelpPart, TOPICS, type Topic } from './help-topics.ts';
import { inLanguage } from './language/language.ts';
import { manualPage } from './man.ts';
import { paintAnswer, print, printJson, textWidth } from './output.ts';
import { unknownCommand } from './usage-errors.ts';

export async function run({ args, flags }: Pick<Invocation, 'args'> & Partial<Pick<Invocation, 'flags'>>) {
  const topic = args.join(' ');
  if (flags?.has('json') === true) await printJson(tableOf(topic));
  else await print(topic === '' ? generalHelp() : topicHelp(topic));
  return 0;
}

/** `mcpx man`: prints the manual page. */
export async function printManualPage(): Promise<number> {
  await print(manualPage(COMMANDS, GLOBAL_OPTIONS));
  return 0;
}

export function commandHelp(command: Command): string {
  const options = [...command.options, ...GLOBAL_OPTIONS].map(({ flags, doc }) => [flags, inLanguage(doc)] as const);
  const examples = command.examples?.map((example) => `  ${example}`) ?? [];
  return [
    paintAnswer('bold', `mcpx ${command.usage}`),
    '',
    ...wrapText(inLanguage(command.summary), textWidth()),
    '',
    title('Options'),
    definitionList(options, { width: textWidth() }),
    ...(examples.length === 0 ? [] : ['', title('Examples'), ...examples]),
  ].join('\n');
}

export function generalHelp(): string {
  const groups = [...new Set(COMMANDS.map(({ group }) => group))];
  const rows = COMMANDS.map(({ usage, summary }) => [usage, inLanguage(summary)] as const);
  const column = definitionColumn(rows);
  const width = textWidth();
  return [
    ...wrapText(inLanguage('mcpx: every MCP server you own behind two tools, inspect and exec'), width),
    '',
    `${title('Usage')}  mcpx <command> [options]`,
    ...groups.flatMap((group) => [
      '',
      title(group),
      definitionList(
        rows.filter((_, index) => COMMANDS[index]?.group === group),
        { width, column },
      ),
    ]),
    '',
    title('Topics'),
    definitionList(
      Object.entries(TOPICS).map(([name, { summary }]) => [`help ${name}`, inLanguage(summary)] as const),
      { width, column },
    ),
    '',
    ...wrapText(inLanguage('Without a command, mcpx serves over stdio. MCP clients start it this way.'), width),
    inLanguage('Try it now: mcpx demo'),
  ].join('\n');
}

function title(text: string): string {
  return paintAnswer('bold', inLanguage(text));
}

function topicHelp(name: string): string {
  const exact = COMMANDS.find(({ usage }) => nameOf(usage) === name);
  if (exact !== undefined) return commandHelp(exact);
  const topic = topicNamed(name);
  if (topic !== undefined) return topicText(name, topic);
  const family = familyOf(name);
  if (family.length > 0) return family.map(commandHelp).join('\n\n');
  const close = nearest(name, Object.keys(TOPICS))[0];
  if (close !== undefined)
    throw new McpxError('usage', `there is no help for "${name}"`, { hint: `mcpx help ${close}` });
  throw unknownCommand(name.split(' '));
}

function topicNamed(name: string): Topic | undefined {
  return new Map<string, Topic>(Object.entries(TOPICS)).get(name);
}

function familyOf(name: string): Command[] {
  return COMMANDS.filter(({ usage }) => nameOf(usage).startsWith(`${name} `));
}

function topicText(name: string, { summary, parts }: Topic): string {
  const head = wrapText(`${paintAnswer('bold', name)}: ${inLanguage(summary)}`, textWidth()).join('\n');
  return [head, ...parts.map(partText)].join('\n\n');
}

function partText(part: HelpPart): string {
  const width = textWidth();
  return typeof part === 'string'
    ? wrapText(inLanguage(part), width).join('\n')
    : definitionList(
        part.terms.map(([term, text]) => [term, inLanguage(text)] as const),
        { width },
      );
}

/** Returns the table of commands for a program, or the part of it that the topic names. */
function tableOf(name: string): unknown {
  const rows = COMMANDS.map(({ usage, summary, group, options, examples = [] }) => {
    const own = [...options, ...GLOBAL_OPTIONS];
    return { name: nameOf(usage), usage: `mcpx ${usage}`, summary, group, options: own, examples };
  });
  if (name === '') return { commands: rows, topics: TOPICS };
  const topic = topicNamed(name);
  const fits = rows.filter((row) => row.name === name || row.name.startsWith(`${name} `));
  if (fits.length === 0 && topic === undefined) throw unknownCommand(name.split(' '));
  return { commands: fits, ...(topic !== undefined && { topics: { [name]: topic } }) };
}
