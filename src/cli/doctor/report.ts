/** The texts of `mcpx doctor`: for a terminal, and for an issue. */
import { userInfo } from 'node:os';
import type { Environment } from '../../config/environment.ts';
import { maskTokens } from '../../config/redact.ts';
import { padToWidth, widthOf } from '../../render/columns.ts';
import { inLanguage } from '../language/language.ts';
import { labelled, paintAnswer, table, wrapped } from '../output.ts';
import type { Area, Finding } from './finding.ts';
import type { ServerReport } from './server-check.ts';

export interface Examination {
  facts: Partial<Record<Area, string[]>>;
  servers: ServerReport[];
  findings: Finding[];
}

const AREAS: readonly Area[] = ['install', 'config', 'programs', 'servers', 'clients', 'home', 'ports'];

export function reportText({ facts, servers, findings }: Examination): string {
  const rows = servers.map((server) => [server.name, stateText(server), stepsText(server)]);
  const lines: Partial<Record<Area, string[]>> = {
    ...facts,
    ...(rows.length > 0 && { servers: table(rows).split('\n') }),
  };
  const width = Math.max(...AREAS.map((area) => widthOf(labelOf(area))));
  const told = AREAS.flatMap((area) =>
    (lines[area] ?? []).map(
      (line, index) =>
        `${paintAnswer('bold', padToWidth(index === 0 ? labelOf(area) : '', width))}  ${wrapped(inLanguage(line), { indent: width + 2 })}`,
    ),
  );
  const blocks = inOrder(findings).map((finding, index) => `\n${findingText(finding, index + 1)}`);
  return [...told, ...blocks, '', summaryText(findings)].join('\n');
}

/** The colon tells the label from the same word in a sentence, which other languages write differently. */
function labelOf(area: Area): string {
  return inLanguage(`${area}:`).slice(0, -1);
}

function inOrder(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => (a.level === b.level ? 0 : a.level === 'error' ? -1 : 1));
}

function findingText({ level, message, reason, command }: Finding, number: number): string {
  const what = labelled(level === 'error' ? 'red' : 'yellow', `${level}:`, inLanguage(message), paintAnswer);
  const why = labelled('dim', 'why:', inLanguage(reason), paintAnswer);
  return `${number}. ${wrapped(what, { indent: 3 })}\n   ${wrapped(why, { indent: 3 })}\n   ${labelled('cyan', 'run:', command, paintAnswer)}`;
}

/** Counts the findings, such as `2 errors, 1 warning`. */
function summaryText(findings: readonly Finding[]): string {
  const count = (level: Finding['level']) => {
    const number = findings.filter((one) => one.level === level).length;
    return number === 0 ? [] : [inLanguage(`${number} ${level}${number === 1 ? '' : 's'}`)];
  };
  const told = [...count('error'), ...count('warning')];
  return told.length === 0 ? inLanguage('no problem was found') : told.join(inLanguage(', '));
}

function stateText({ state }: ServerReport): string {
  if (state === 'disabled') return inLanguage(state);
  return paintAnswer(state === 'ready' ? 'green' : 'red', inLanguage(state));
}

function stepsText({ steps, tools }: ServerReport): string {
  const done = steps.map(({ step, ms }) => (ms === undefined ? `${step} failed` : `${step} ${ms} ms`));
  const offered = tools === undefined ? [] : [tools === 1 ? '1 tool' : `${tools} tools`];
  return [...done, ...offered].map(inLanguage).join(inLanguage(', '));
}

/** Returns Markdown without secrets, the home folder and the name of the user. */
export function issueText(examination: Examination, { home }: Environment): string {
  const { username } = userInfo();
  const text = maskTokens(reportText(examination)).replaceAll(home, '~');
  const names = new RegExp(`(?<=[\\\\/ ])${username.replace(/[^\w]/g, '\\$&')}(?=[\\\\/\\s"']|$)`, 'g');
  return ['### mcpx doctor', '', '```text', username.length < 3 ? text : text.replace(names, '<user>'), '```'].join(
    '\n',
  );
}
