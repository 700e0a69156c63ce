/** Applies environment variables and flags over the files. Flags win over variables, which win over files. */
import type { Config, Settings, Token } from './config.ts';
import { createDiagnostics, type Diagnostics } from './diagnostics.ts';
import { absolutePath, type Environment, lookup } from './environment.ts';
import type { Field } from './field-kinds.ts';
import { SETTINGS } from './fields.ts';
import { overlay } from './merge.ts';
import { nearest } from './nearest.ts';
import { readField } from './validate.ts';

/** Flags as typed. `applyOverrides` converts and checks them. */
export interface Overrides {
  profile?: string | undefined;
  host?: string | undefined;
  port?: number | string | undefined;
  front?: string | undefined;
  logLevel?: string | undefined;
  logFile?: string | undefined;
  logFormat?: string | undefined;
  offline?: boolean | undefined;
  watch?: boolean | undefined;
}

interface Override {
  flag: keyof Overrides;
  variable?: string;
  to: (value: unknown) => object;
  field: Field;
}

const { http, front, log } = SETTINGS;

const OVERRIDES: readonly Override[] = [
  { flag: 'host', variable: 'MCPX_HOST', to: (host) => ({ http: { host } }), field: inner(http, 'host') },
  { flag: 'port', variable: 'MCPX_PORT', to: (port) => ({ http: { port } }), field: inner(http, 'port') },
  { flag: 'front', variable: 'MCPX_FRONT', to: (kind) => ({ front: { kind } }), field: inner(front, 'kind') },
  { flag: 'logLevel', variable: 'MCPX_LOG_LEVEL', to: (level) => ({ log: { level } }), field: inner(log, 'level') },
  { flag: 'logFile', variable: 'MCPX_LOG_FILE', to: (file) => ({ log: { file } }), field: inner(log, 'file') },
  {
    flag: 'logFormat',
    variable: 'MCPX_LOG_FORMAT',
    to: (format) => ({ log: { format } }),
    field: inner(log, 'format'),
  },
  { flag: 'offline', variable: 'MCPX_OFFLINE', to: (offline) => ({ offline }), field: SETTINGS.offline },
  { flag: 'watch', to: (watch) => ({ watch }), field: SETTINGS.watch },
];

/** Variables that other code reads. */
const OTHER_VARIABLES = ['MCPX_CONFIG', 'MCPX_HOME', 'MCPX_PROFILE', 'MCPX_TOKEN', 'MCPX_NO_INPUT', 'MCPX_LANG'];
const VARIABLES = [...OVERRIDES.flatMap(({ variable }) => variable ?? []), ...OTHER_VARIABLES];

function inner(group: Field, key: string): Field {
  return (group.kind === 'group' ? group.fields[key] : undefined) ?? group;
}

export interface Applied {
  settings: Settings;
  profile?: string;
  /** The front that the environment or a flag chose; it then applies to every profile. */
  front?: Settings['front']['kind'];
}

/** Throws McpxError('usage') for a wrong flag. A wrong variable is reported as a finding. */
export function applyOverrides(base: Settings, flags: Overrides, world: Environment, findings: Diagnostics): Applied {
  warnMisspelled(world, findings);
  const usage = createDiagnostics();
  const patches = OVERRIDES.flatMap((override) => {
    const fromEnv = override.variable === undefined ? undefined : lookup(override.variable, world);
    const given = flags[override.flag];
    if (given !== undefined) return patchOf(override, given, `--${kebab(override.flag)}`, world, usage);
    return fromEnv ? patchOf(override, fromEnv, override.variable ?? '', world, findings) : [];
  });
  usage.check([], 'usage');
  const settings = patches.reduce<unknown>(overlay, base) as Settings;
  const profile = flags.profile ?? (lookup('MCPX_PROFILE', world) || undefined);
  const chosenFront = patches.some((patch) => 'front' in patch);
  return {
    settings: withToken(settings, world),
    ...(profile === undefined ? {} : { profile }),
    ...(chosenFront ? { front: settings.front.kind } : {}),
  };
}

function patchOf(
  { flag, field, to }: Override,
  given: unknown,
  name: string,
  world: Environment,
  findings: Diagnostics,
): object[] {
  const value = readField(field, fromText(field, given), { file: '', path: [name] }, findings);
  if (value === undefined) return [];
  return [to(flag === 'logFile' ? absolutePath(String(value), world.cwd, world) : value)];
}

/** Converts the text of a variable or flag to the type of its field. */
function fromText(field: Field, given: unknown): unknown {
  if (typeof given !== 'string') return given;
  if (field.kind === 'integer') return /^\d+$/.test(given) ? Number(given) : given;
  if (field.kind !== 'boolean') return given;
  if (/^(?:1|true|yes|on)$/i.test(given)) return true;
  return /^(?:0|false|no|off)$/i.test(given) ? false : given;
}

/** Adds the token of MCPX_TOKEN as a placeholder, so that the secret stays in the environment. */
function withToken(settings: Settings, world: Environment): Settings {
  if (!lookup('MCPX_TOKEN', world)) return settings;
  const token: Token = {
    name: 'MCPX_TOKEN',
    token: '${env:MCPX_TOKEN}',
    tools: {},
    resources: {},
    prompts: {},
    admin: false,
  };
  const tokens = [...settings.http.auth.tokens, token];
  return { ...settings, http: { ...settings.http, auth: { ...settings.http.auth, tokens } } };
}

function warnMisspelled({ env }: Environment, findings: Diagnostics): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith('MCPX_') || name.startsWith('MCPX_INPUT_') || VARIABLES.includes(name)) continue;
    const meant = nearest(name, VARIABLES);
    if (meant !== undefined)
      findings.warn({ message: `mcpx does not know the variable ${name}`, hint: `did you mean ${meant}?` });
  }
}

function kebab(flag: string): string {
  return flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns the profiles, with their front replaced if one was chosen for all of them. */
export function withFront(
  profiles: Config['profiles'],
  chosen: Settings['front']['kind'] | undefined,
): Config['profiles'] {
  return chosen === undefined ? profiles : profiles.map((profile) => ({ ...profile, front: chosen }));
}
