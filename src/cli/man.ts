/** The manual page in roff, from the tables of commands and topics. */
import { VERSION } from '../version.ts';
import { type Command, nameOf, type Option } from './command.ts';
import { type HelpPart, TOPICS } from './help-topics.ts';

export function manualPage(commands: readonly Command[], options: readonly Option[]): string {
  const { environment, 'exit-codes': exitCodes, ...topics } = TOPICS;
  return [
    `.TH MCPX 1 "" "mcpx ${roff(VERSION)}" "User Commands"`,
    ...section('NAME', ['mcpx \\- every MCP server you own behind two tools, inspect and exec']),
    ...section('SYNOPSIS', ['.B mcpx', '.RI [ command ]', '.RI [ options ]']),
    ...section('DESCRIPTION', [
      'mcpx is an aggregator, an HTTP gateway and a command line for servers of the Model Context Protocol.',
      'Without a command, it serves over stdio; MCP clients start it this way.',
      'On a terminal, it prints help.',
    ]),
    ...section('OPTIONS', options.flatMap(optionLines)),
    ...section('COMMANDS', commands.flatMap(commandLines)),
    ...Object.entries(topics).flatMap(([name, { parts }]) => section(name.toUpperCase(), parts.flatMap(partLines))),
    ...section('ENVIRONMENT', environment.parts.flatMap(partLines)),
    ...section('FILES', [
      ...term('~/.mcpx/config.json', 'the config'),
      ...term('~/.mcpx/secrets.env', 'values for ${input:id}, readable by the user only'),
      ...term('~/.mcpx/logs', 'stderr output of servers'),
    ]),
    ...section('EXIT STATUS', exitCodes.parts.flatMap(partLines)),
  ].join('\n');
}

function section(title: string, lines: string[]): string[] {
  return [`.SH ${title}`, ...lines];
}

function commandLines({ usage, summary, options, examples = [] }: Command): string[] {
  const name = nameOf(usage);
  const rest = usage.slice(name.length);
  return [
    `.SS mcpx ${roff(name)}${roff(rest)}`,
    roff(`${summary}.`),
    ...options.flatMap(optionLines),
    ...(examples.length === 0 ? [] : ['.PP', '.nf', '.RS', ...examples.map(roff), '.RE', '.fi']),
  ];
}

function optionLines({ flags, doc }: Option): string[] {
  return term(flags, doc);
}

function partLines(part: HelpPart): string[] {
  if (typeof part === 'string') return ['.PP', roff(part)];
  return part.terms.flatMap(([name, text]) => term(name, text));
}

function term(name: string, text: string): string[] {
  return ['.TP', `.B ${roff(name)}`, roff(text)];
}

/** Escapes text for roff: backslashes, minus signs that are typed, and a dot or quote that would begin a request. */
function roff(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('~', '\\(ti').replace(/^[.']/, '\\&$&');
}
