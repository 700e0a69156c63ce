/** The configured servers as rows of `mcpx list`: their stored lists and last failures, without starting any. */

import { join } from 'node:path';
import { accessTo } from '../app/begin-sign-in.ts';
import { configOptions } from '../app/config-options.ts';
import type { ServerEntry } from '../catalog/catalog.ts';
import { type CatalogStore, createCatalogStore, NO_STORE } from '../catalog/catalog-store.ts';
import { createFailureStore, type StoredFailure } from '../catalog/failure-store.ts';
import { unansweredLists } from '../catalog/list-requests.ts';
import type { Config, Profile, ServerSpec } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { type Environment, environmentOf } from '../config/environment.ts';
import { homeFolder, secretsFile, tokensFile } from '../config/paths.ts';
import { redactSpec } from '../config/show.ts';
import { signInData, toMcpxError } from '../errors.ts';
import { createLog } from '../observe/log.ts';
import { createAccess } from '../policy/access.ts';
import { createOAuth } from '../upstream/oauth/oauth.ts';
import { shellWord } from './shell-word.ts';

/** `ready` and `worked` mean success: now, and at the last start. */
export type RowState = 'ready' | 'worked' | 'new' | 'failed' | 'sign-in' | 'incomplete' | 'disabled';

export interface ServerRow {
  profile: string;
  profileEnabled: boolean;
  name: string;
  type: string;
  /** The command or URL, with placeholders as written and secrets masked. */
  target: string;
  state: RowState;
  disabled: boolean;
  /** The number of tools that clients may see; undefined if it is not known. */
  tools?: number;
  /** The time of the lists or of the failure, as an ISO date. */
  at?: string;
  /** The variables that have to be set before it can start. */
  missing: string[];
  /** The command that signs in, if the server is known to need that. */
  signIn?: string;
  error?: string;
  hint?: string;
}

interface Facts {
  config: Config;
  profile: Profile;
  store: Pick<CatalogStore, 'read'>;
  failureOf(spec: ServerSpec): StoredFailure | undefined;
  signInOf(spec: ServerSpec): string | undefined;
}

/** Returns the rows of every profile, or of the named one. `checked` holds the servers that were started just now. */
export function serverRows(config: Config, checked?: ReadonlyMap<ServerSpec, ServerEntry>): ServerRow[] {
  const profiles = config.profiles.filter(({ name }) => config.profile === undefined || name === config.profile);
  const stored = storedFacts(config);
  return profiles.flatMap((profile) =>
    profile.servers.map((spec) => rowOf(spec, checked?.get(spec), { config, profile, ...stored })),
  );
}

/** Returns what is on disk. The demo stores nothing. */
function storedFacts(config: Config): Pick<Facts, 'store' | 'failureOf' | 'signInOf'> {
  const { files, settings } = config;
  const log = createLog({ ...settings.log, level: 'warn' });
  const oauth = createOAuth({ file: tokensFile(environmentOf()), log, options: configOptions(config) });
  const folder = join(homeFolder(environmentOf()), 'cache');
  return {
    store: files.length === 0 ? NO_STORE : createCatalogStore({ folder, log }),
    failureOf: files.length === 0 ? () => undefined : createFailureStore({ folder }).read,
    signInOf(spec) {
      if (!('url' in spec)) return undefined;
      try {
        return oauth.neededCommand(accessTo(spec, settings));
      } catch {
        // A setting that cannot be used has its own message when the server starts.
        return undefined;
      }
    },
  };
}

function rowOf(spec: ServerSpec, entry: ServerEntry | undefined, facts: Facts): ServerRow {
  const { profile, config } = facts;
  const { name, type, disabled } = spec;
  const missing = missingVariables(spec, config.settings.connect);
  return {
    profile: profile.name,
    profileEnabled: profile.enabled,
    name,
    type,
    target: targetOf(spec),
    disabled,
    missing,
    ...stateOf(spec, { entry, missing }, facts),
  };
}

type State = Pick<ServerRow, 'state' | 'tools' | 'at' | 'signIn' | 'error' | 'hint'>;

function stateOf(
  spec: ServerSpec,
  { entry, missing }: { entry: ServerEntry | undefined; missing: string[] },
  facts: Facts,
): State {
  const offered = entry?.listing.kind === 'listed' ? entry.offer : undefined;
  const stored = offered === undefined ? facts.store.read(spec) : undefined;
  const offer = offered ?? [...(stored?.bySet.values() ?? [])].at(-1)?.offer;
  const tools = offer && { tools: visibleTools(spec, offer.tools, facts) };
  if (spec.disabled || !facts.profile.enabled) return { state: 'disabled', ...tools };
  if (missing.length > 0) return { state: 'incomplete', ...tools, hint: valueCommand(missing, environmentOf()) };
  if (entry !== undefined) return { ...checkedState(entry), ...tools };
  const signIn = facts.signInOf(spec);
  if (signIn !== undefined) return { state: 'sign-in', ...tools, signIn, hint: signIn };
  const failure = facts.failureOf(spec);
  if (failure !== undefined) return { ...failedState(failure), ...tools };
  if (stored === undefined) return { state: 'new' };
  return { state: 'worked', ...tools, at: dateOf(stored.at) };
}

/** Describes a server that was started just now. */
function checkedState({ listing, offer }: ServerEntry): State {
  if (listing.kind === 'unlisted') return { state: 'failed', error: 'it has not answered yet' };
  if (listing.kind === 'listed') {
    const unanswered = unansweredLists(offer).join('; ');
    return { state: 'ready', at: dateOf(listing.at), ...(unanswered !== '' && { error: unanswered }) };
  }
  const { code, message, hint } = toMcpxError(listing.error);
  const signIn = signInData(listing.error) !== undefined;
  return failedState({ at: listing.at, code, message, hint, signIn });
}

function failedState({ at, message, hint, signIn }: StoredFailure): State {
  const failed = { at: dateOf(at), error: message.split('\n')[0] ?? '', ...(hint !== undefined && { hint }) };
  if (signIn !== true) return { state: 'failed', ...failed };
  return { state: 'sign-in', ...failed, ...(hint !== undefined && { signIn: hint }) };
}

function visibleTools(
  { name: server }: ServerSpec,
  tools: ServerEntry['offer']['tools'],
  { profile, config: { settings } }: Facts,
): number {
  const access = createAccess({ profile, policy: settings.policy });
  return tools.filter(({ tool }) => access.allows({ server, kind: 'tool', name: tool.name })).length;
}

/** Returns the command that gives values to variables: those of inputs are read from the secrets file too. */
export function valueCommand(missing: readonly string[], world: Environment): string {
  if (missing.every((name) => name.startsWith('MCPX_INPUT_'))) {
    const lines = missing.map((name) => `echo '${name}=<value>' >> ${shellWord(secretsFile(world))}`);
    return lines.join(' && ');
  }
  if (world.platform === 'win32') return missing.map((name) => `set ${name}=<value>`).join(' && ');
  return `export ${missing.map((name) => `${name}='<value>'`).join(' ')}`;
}

function dateOf(at: number): string {
  return new Date(at).toISOString();
}

function targetOf(server: ServerSpec): string {
  const spec = redactSpec(server);
  switch (spec.type) {
    case 'stdio':
      return [spec.command, ...spec.args].join(' ');
    case 'module':
      return spec.module;
    case 'builtin':
      return spec.builtin;
    default:
      return spec.url;
  }
}
