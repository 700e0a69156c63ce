/** Finds the cause of an exited server in the lines that it wrote to stderr. */
import { dirname, isAbsolute } from 'node:path';
import type { ServerSpec } from '../../config/config.ts';
import { lookup } from '../../config/environment.ts';
import type { McpxError } from '../../errors.ts';
import { quote } from '../../upstream/process/process-errors.ts';
import { shellWord } from '../shell-word.ts';
import { byHand, seeCommand } from './cause-command.ts';
import { ownCommand } from './finding.ts';
import { type Advice, type AdviceContext, hasNoSecret, setField } from './server-advice.ts';

export function exitAdvice({ hint }: McpxError, context: AdviceContext): Advice {
  const text = context.stderr.join('\n');
  const known =
    missingVariable(text, context) ??
    dockerDown(text, context) ??
    missingScript(text, context) ??
    missingModule(text, context) ??
    offline(text);
  if (known !== undefined) return known;
  if (hint?.startsWith('offline, ') === true)
    return {
      code: 'offline',
      reason: hint,
      command: ownCommand(context.flags, 'config', 'set', 'offline', 'false'),
    };
  const said = quote([...context.stderr]).replace(/^ \(stderr: (.*)\)$/s, '$1');
  if (said === '')
    return {
      code: 'exited',
      reason: 'it wrote nothing to stderr; run by hand, it shows what it does',
      command: byHand(context),
    };
  return { code: 'exited', reason: `its last lines on stderr: ${said}`, command: seeCommand(context) };
}

const NAME = '\\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\\b';
const ABSENT = '(?:not set|required|missing|undefined|unset|not (?:been )?(?:found|defined|provided|set))';
const VARIABLE = [
  new RegExp(`${NAME}[^\\n]{0,60}?\\b${ABSENT}`),
  new RegExp(`(?:[Mm]issing|[Rr]equires?d?|[Ss]et|[Pp]rovide|[Nn]eeds?)\\b[^\\n]{0,60}?${NAME}`),
];

/** The environment of a server is minimal, so a variable of the shell has to be named in its entry. */
function missingVariable(text: string, context: AdviceContext): Advice | undefined {
  const { spec, world } = context;
  if (spec.type !== 'stdio') return undefined;
  const name = VARIABLE.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);
  if (name === undefined || Object.hasOwn(spec.env, name)) return undefined;
  const isSet = lookup(name, world) !== undefined;
  const reason = isSet
    ? `it needs ${name}, which is set in this shell; servers get only the variables in their "env", and PATH, HOME and the like`
    : `it needs the variable ${name}`;
  return {
    code: 'variable-missing',
    reason,
    command: setField(context, ['env', name], isSet ? `\${${name}}` : '<value>'),
  };
}

function dockerDown(text: string, { world: { platform } }: AdviceContext): Advice | undefined {
  if (!/cannot connect to the docker daemon|docker daemon is not running|error during connect:/i.test(text))
    return undefined;
  const command = { darwin: 'open -a Docker', win32: 'start "" "Docker Desktop"' }[platform as string];
  return {
    code: 'docker-not-running',
    reason: 'Docker is installed and does not run',
    command: command ?? 'sudo systemctl start docker',
  };
}

/** Node and Python name the script that they were to run; any other module is one that the script asks for. */
function missingScript(text: string, context: AdviceContext): Advice | undefined {
  const { spec } = context;
  const found =
    /Cannot find module '([^'\n]+)'(?=[\s\S]*requireStack: \[\])/.exec(text)?.[1] ??
    /the script "([^"\n]+)" does not exist/.exec(text)?.[1] ??
    /can't open file '([^'\n]+)': \[Errno 2\]/.exec(text)?.[1];
  if (spec.type !== 'stdio' || found === undefined) return undefined;
  const args = hasNoSecret(spec) ? spec.args.map((arg) => (found.endsWith(arg) ? '<path of the script>' : arg)) : ['…'];
  return {
    code: 'script-not-found',
    reason: `there is no file "${found}"`,
    command: setField(context, ['args'], JSON.stringify(args)),
  };
}

function missingModule(text: string, { spec }: AdviceContext): Advice | undefined {
  const python = /No module named '?([\w.]+)'?/.exec(text)?.[1];
  if (spec.type === 'stdio' && python !== undefined) {
    const command = `${shellWord(spec.command)} -m pip install ${python}`;
    return { code: 'module-missing', reason: `the Python package "${python}" is not installed`, command };
  }
  const found = /Cannot find (?:module|package) '([^'\n]+)'/.exec(text)?.[1];
  if (found === undefined) return undefined;
  const folder = scriptFolder(spec);
  if (folder === undefined || isAbsolute(found)) return undefined;
  const reason = `the package "${found}" is not installed where its script is`;
  return { code: 'module-missing', reason, command: `cd ${shellWord(folder)} && npm install` };
}

function scriptFolder(spec: ServerSpec): string | undefined {
  if (spec.type !== 'stdio') return undefined;
  const script = spec.args.find((arg) => /\.[cm]?[jt]s$/.test(arg) && isAbsolute(arg));
  return spec.cwd ?? (script === undefined ? undefined : dirname(script));
}

function offline(text: string): Advice | undefined {
  if (!/ENOTFOUND|EAI_AGAIN|ETIMEDOUT|network (?:is )?unreachable|dns error/i.test(text)) return undefined;
  const reason = 'it had to download something, and the network does not reach that host';
  return { code: 'download-failed', reason, command: 'npm ping' };
}
