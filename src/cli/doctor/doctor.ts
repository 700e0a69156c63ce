/** `mcpx doctor`: examines install, config, programs, servers, clients, files and ports, and names what to do. */
import { type Environment, environmentOf } from '../../config/environment.ts';
import { VERSION } from '../../version.ts';
import type { Invocation } from '../command.ts';
import { language } from '../language/language.ts';
import { note, print, printJson } from '../output.ts';
import { checkClients } from './client-check.ts';
import { checkConfig } from './config-check.ts';
import type { Area, Finding } from './finding.ts';
import { checkHome } from './home-check.ts';
import { checkInstall } from './install-check.ts';
import { checkPort } from './port-check.ts';
import { checkPrograms } from './program-check.ts';
import { type Examination, issueText, reportText } from './report.ts';
import { checkServers } from './server-check.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const world = environmentOf();
  const examination = await examine(invocation, world);
  const isBroken = examination.findings.some(({ level }) => level === 'error');
  if (flags.has('json')) await printJson({ ok: !isBroken, version: VERSION, ...examination });
  else if (flags.has('report')) {
    // The readers of an issue may not know Chinese.
    await print(language.inEnglish(() => issueText(examination, world)));
    note('secrets and the name of your home folder are masked; read the text before you publish it');
  } else await print(reportText(examination));
  return isBroken ? 1 : 0;
}

async function examine(invocation: Invocation, world: Environment): Promise<Examination> {
  const { args, flags } = invocation;
  const [only] = args;
  const facts: Examination['facts'] = {};
  const findings: Finding[] = [];
  const take = (area: Area, found: { facts: string[]; findings: Finding[] }) => {
    if (found.facts.length > 0) facts[area] = found.facts;
    findings.push(...found.findings);
  };
  if (only === undefined) take('install', checkInstall(world));
  const checked = checkConfig(flags, only, world);
  const { config } = checked;
  take('config', checked);
  // Processes of a killed mcpx are counted before the start of servers ends them.
  const home = only === undefined ? await checkHome(world) : undefined;
  if (config !== undefined) take('programs', await checkPrograms(config, { flags, only, world }));
  const started = config === undefined ? undefined : await checkServers(config, invocation, world);
  findings.push(...(started?.findings ?? []));
  if (flags.has('clients')) take('clients', await checkClients(config, flags, world));
  else if (only === undefined) facts.clients = ['their files are read only with --clients'];
  if (home !== undefined) take('home', home);
  if (config !== undefined && only === undefined) take('ports', await checkPort(config, flags));
  return { facts, servers: started?.servers ?? [], findings };
}
