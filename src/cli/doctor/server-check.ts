/** Starts each server once for `mcpx doctor` and reports its steps with their durations. */
import { unansweredLists } from '../../catalog/list-requests.ts';
import type { Config, ServerSpec } from '../../config/config.ts';
import type { Environment } from '../../config/environment.ts';
import { didYouMean } from '../../config/nearest.ts';
import { McpxError, toMcpxError } from '../../errors.ts';
import type { Diagnostics } from '../../upstream/connection-interface.ts';
import type { Flags, Invocation } from '../command.ts';
import { formatKey } from '../config-key.ts';
import { type Started, startOnce } from '../start-once.ts';
import { seeCommand } from './cause-command.ts';
import { type Finding, ownCommand } from './finding.ts';
import { type AdviceContext, serverFinding, silentCommand } from './server-advice.ts';

export interface ServerReport {
  name: string;
  type: string;
  state: 'ready' | 'failed' | 'disabled';
  /** The steps that were done, in milliseconds; the one that failed has none. */
  steps: { step: 'spawn' | 'initialize' | 'list'; ms?: number }[];
  tools?: number;
}

export interface CheckedServers {
  servers: ServerReport[];
  findings: Finding[];
}

export async function checkServers(
  config: Config,
  invocation: Invocation,
  world: Environment,
): Promise<CheckedServers> {
  const { args, flags } = invocation;
  const only = args[0];
  const specs = [...new Set(config.profiles.flatMap(({ servers }) => servers))].filter(
    ({ name }) => only === undefined || name === only,
  );
  if (only !== undefined && specs.length === 0) throw unknownServer(only, config);
  const started = await startOnce(config, invocation, (one) => examine(one, invocation, world), only);
  const off = specs.filter((spec) => !started.has(spec));
  const disabled = off.map(({ name, type }): ServerReport => ({ name, type, state: 'disabled', steps: [] }));
  const findings = [...started.values()].flatMap((one) => one.findings);
  if (only !== undefined) findings.push(...off.map((spec) => disabledFinding(spec, config, flags)));
  return { servers: [...[...started.values()].map(({ report }) => report), ...disabled], findings };
}

function disabledFinding(spec: ServerSpec, { profiles }: Config, flags: Flags): Finding {
  const profile = profiles.find(({ servers }) => servers.includes(spec))?.name ?? '';
  const enable = ['config', 'set', formatKey(['profiles', profile, 'enabled']), 'true'];
  return {
    ...{ area: 'servers', code: 'disabled', level: 'warning', server: spec.name },
    message: `server "${spec.name}" is not started`,
    reason: spec.disabled ? 'it is disabled in the config' : `its profile "${profile}" is disabled in the config`,
    command: ownCommand(flags, ...(spec.disabled ? ['enable', spec.name] : enable)),
  };
}

function unknownServer(name: string, { profiles }: Config): McpxError {
  const names = new Set(profiles.flatMap(({ servers }) => servers.map((spec) => spec.name)));
  return new McpxError('not_found', `no server is called "${name}"`, { hint: didYouMean(name, names) ?? 'mcpx list' });
}

interface Examination {
  report: ServerReport;
  findings: Finding[];
}

async function examine(
  { spec, entry, diagnostics }: Started,
  { flags }: Invocation,
  world: Environment,
): Promise<Examination> {
  const found = entry();
  const seen = diagnostics() ?? { stderr: [], noise: 0 };
  const { name, type } = spec;
  const context = { spec, flags, world, stderr: seen.stderr };
  if (found?.listing.kind === 'listed') {
    const steps = doneSteps(spec, seen, found.listing.at);
    const report: ServerReport = { name, type, state: 'ready', steps, tools: found.offer.tools.length };
    const lists = unansweredLists(found.offer).map(
      (list): Finding => ({
        ...{ area: 'servers', code: 'list-unanswered', level: 'warning', server: name },
        message: `server "${name}": ${list}`,
        reason: 'its tools work, and this list stays empty',
        command: seeCommand(context),
      }),
    );
    return { report, findings: [...lists, ...noiseFinding(seen, context)] };
  }
  const error =
    found?.listing.kind === 'failed'
      ? toMcpxError(found.listing.error)
      : new McpxError('timeout', `server "${name}" did not answer`);
  const report: ServerReport = { name, type, state: 'failed', steps: failedSteps(spec, seen, error) };
  return { report, findings: [serverFinding(error, context)] };
}

/** Only processes have a step before the first request. */
function hasSpawn({ type }: ServerSpec): boolean {
  return type === 'stdio' || type === 'module';
}

function doneSteps(spec: ServerSpec, { steps }: Diagnostics, listedAt: number): ServerReport['steps'] {
  if (steps?.initialize === undefined || steps.readyAt === undefined) return [];
  const { open, initialize, readyAt } = steps;
  return [
    ...(hasSpawn(spec) ? [{ step: 'spawn' as const, ms: rounded(open) }] : []),
    { step: 'initialize', ms: rounded(initialize) },
    { step: 'list', ms: Math.max(0, listedAt - readyAt) },
  ];
}

function failedSteps(spec: ServerSpec, { steps }: Diagnostics, { cause }: McpxError): ServerReport['steps'] {
  const isSpawnError = (cause as NodeJS.ErrnoException | undefined)?.syscall?.startsWith('spawn') === true;
  const spawn = { step: 'spawn' as const };
  if (hasSpawn(spec) && (isSpawnError || steps === undefined)) return [spawn];
  const before = hasSpawn(spec) && steps !== undefined ? [{ ...spawn, ms: rounded(steps.open) }] : [];
  if (steps?.initialize === undefined) return [...before, { step: 'initialize' }];
  return [...before, { step: 'initialize', ms: rounded(steps.initialize) }, { step: 'list' }];
}

function rounded(ms: number): number {
  return Math.round(ms);
}

/** Finding for a server that works although it writes something else to stdout. */
function noiseFinding({ noise, firstNoise = '' }: Diagnostics, context: AdviceContext): Finding[] {
  if (noise === 0) return [];
  const { name } = context.spec;
  const command = silentCommand(context) ?? seeCommand(context);
  return [
    {
      ...{ area: 'servers', code: 'noisy-stdout', level: 'warning', server: name, command },
      message:
        noise === 1
          ? `server "${name}" wrote 1 line to stdout that is not MCP`
          : `server "${name}" wrote ${noise} lines to stdout that are not MCP`,
      reason: `the first: ${firstNoise.slice(0, 200)}; mcpx ignores it, other clients may not`,
    },
  ];
}
