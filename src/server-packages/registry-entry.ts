/** The config entry of an offer in a `server.json`: `npx`, `uvx`, `docker run` or `dnx` with its arguments, or a URL with headers. */
import type { JsonRecord } from '../config/json-data.ts';
import { type InputValues, type PackageInput, valuesOf } from './package-input.ts';
import type {
  Argument,
  NamedValue,
  Offer,
  PackageKind,
  PackageOffer,
  RemoteOffer,
  ValueRule,
} from './registry-file.ts';

/** Returns the values that the user can give. Parts of one key are one value. */
export function offerInputs(offer: Offer): PackageInput[] {
  const inputs = 'url' in offer ? remoteInputs(offer) : packageInputs(offer);
  const same = (a: PackageInput, b: PackageInput) => a.option === b.option && a.key === b.key;
  return inputs.filter((input, index) => inputs.findIndex((other) => same(input, other)) === index);
}

function packageInputs({ variables, runtimeArguments, packageArguments }: PackageOffer): PackageInput[] {
  return [
    ...[...runtimeArguments, ...packageArguments].flatMap(argumentInputs),
    ...variables.flatMap((rule) => namedInputs(rule, 'env')),
  ];
}

function remoteInputs({ headers, parts }: RemoteOffer): PackageInput[] {
  return [...partInputs(parts, false), ...headers.flatMap((rule) => namedInputs(rule, 'header'))];
}

function namedInputs(rule: NamedValue, option: 'env' | 'header'): PackageInput[] {
  return rule.value === undefined ? [inputOf(rule.name, rule, { option })] : partInputs(rule.parts, rule.secret);
}

function argumentInputs(rule: Argument): PackageInput[] {
  if (rule.value !== undefined) return partInputs(rule.parts, rule.secret);
  return isSwitch(rule) ? [] : [inputOf(rule.key, rule, { option: 'set', multiple: rule.repeated })];
}

function partInputs(parts: ReadonlyMap<string, ValueRule>, isSecret: boolean): PackageInput[] {
  return [...parts].map(([key, rule]) => inputOf(key, { ...rule, secret: rule.secret || isSecret }, { option: 'set' }));
}

const KINDS: Record<string, PackageInput['kind']> = { number: 'number', boolean: 'boolean', filepath: 'path' };

function inputOf(
  key: string,
  { doc, required, secret, format, fallback, choices }: ValueRule,
  { option, multiple = false }: { option: PackageInput['option']; multiple?: boolean },
): PackageInput {
  return {
    ...{ key, option, doc, required, secret, multiple, choices },
    kind: KINDS[format] ?? 'text',
    fallback: fallback === undefined ? [] : [fallback],
  };
}

/** A flag about which the file says nothing else has no value, such as `--rm`. */
function isSwitch({ flag, value, fallback, required, choices, doc, format }: Argument): boolean {
  const isBare = value === undefined && fallback === undefined && !required && choices.length === 0;
  return flag !== undefined && isBare && doc === '' && format === 'string';
}

export function offerEntry(offer: Offer, values: InputValues): JsonRecord {
  return 'url' in offer ? remoteEntry(offer, values) : packageEntry(offer, values);
}

function remoteEntry({ kind, url, headers, parts }: RemoteOffer, values: InputValues): JsonRecord {
  const set = namedValues(headers, 'header', values);
  const filled = fillParts(url, parts, { values, isSecret: false }) ?? url;
  return { type: kind, url: filled, ...(Object.keys(set).length > 0 && { headers: set }) };
}

function packageEntry(offer: PackageOffer, values: InputValues): JsonRecord {
  const variables = namedValues(offer.variables, 'env', values);
  const runtime = offer.runtimeArguments.flatMap((rule) => argumentWords(rule, values));
  const args = offer.packageArguments.flatMap((rule) => argumentWords(rule, values));
  const launch = launchOf(offer, { runtime, args, variables: Object.keys(variables) });
  const env = { ...launch.env, ...variables };
  return { command: launch.command, args: launch.args, ...(Object.keys(env).length > 0 && { env }) };
}

function namedValues(
  rules: readonly NamedValue[],
  option: 'env' | 'header',
  values: InputValues,
): Record<string, string> {
  const pairs = rules.flatMap((rule) => {
    const { name, value, parts, secret } = rule;
    const text =
      value === undefined
        ? valuesOf(inputOf(name, rule, { option }), values)?.[0]
        : fillParts(value, parts, { values, isSecret: secret });
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(pairs);
}

/** Returns the words of one argument; none for an optional one without a value. */
function argumentWords(rule: Argument, values: InputValues): string[] {
  const { flag, key, value, parts, secret, format } = rule;
  if (isSwitch(rule)) return flag === undefined ? [] : [flag];
  const fixed = value === undefined ? undefined : fillParts(value, parts, { values, isSecret: secret });
  const given =
    value === undefined
      ? (valuesOf(inputOf(key, rule, { option: 'set' }), values) ?? [])
      : [fixed].flatMap((one) => one ?? []);
  if (flag === undefined) return [...given];
  if (format === 'boolean') return given[0] === 'true' ? [flag] : [];
  return given.flatMap((one) => (flag.endsWith('=') ? [flag + one] : [flag, one]));
}

/** Replaces `{name}` by the value of the part. Returns undefined if a part has no value. Other braces stay. */
function fillParts(
  text: string,
  parts: ReadonlyMap<string, ValueRule>,
  { values, isSecret }: { values: InputValues; isSecret: boolean },
): string | undefined {
  let isComplete = true;
  const filled = text.replace(/\{([^{}]+)\}/g, (written, name: string) => {
    const rule = parts.get(name);
    if (rule === undefined) return written;
    const value = rule.value ?? valuesOf(inputOf(name, { ...rule, secret: isSecret }, { option: 'set' }), values)?.[0];
    isComplete &&= value !== undefined;
    return value ?? '';
  });
  return isComplete ? filled : undefined;
}

/** Returns the program that starts a package. A bundle is named by the runtime that most bundles need. */
export function launcherOf({ kind, runtime }: PackageOffer): string {
  const { usual, others } = LAUNCHERS[kind];
  return others.find((one) => one === runtime) ?? usual;
}

const LAUNCHERS: Record<PackageKind, { usual: string; others: string[] }> = {
  npm: { usual: 'npx', others: ['bunx'] },
  pypi: { usual: 'uvx', others: [] },
  oci: { usual: 'docker', others: ['podman', 'nerdctl'] },
  nuget: { usual: 'dnx', others: [] },
  mcpb: { usual: 'node', others: [] },
};

interface Parts {
  runtime: string[];
  args: string[];
  /** The names of the variables that are set. */
  variables: string[];
}

interface LaunchWords {
  command: string;
  args: string[];
  env?: Record<string, string>;
}

function launchOf(offer: PackageOffer, parts: Parts): LaunchWords {
  const { kind, identifier, version } = offer;
  const pinned = version === undefined ? identifier : `${identifier}@${version}`;
  switch (kind) {
    case 'npm':
      return npmLaunch(offer, pinned, parts);
    case 'pypi': {
      const index = isForeign(offer.registry, 'https://pypi.org') ? ['--index-url', offer.registry ?? ''] : [];
      return { command: launcherOf(offer), args: [...index, ...parts.runtime, pinned, ...parts.args] };
    }
    case 'oci':
      return containerLaunch(offer, parts);
    default: {
      const rest = parts.args.length > 0 ? ['--', ...parts.args] : [];
      return { command: launcherOf(offer), args: [pinned, '--yes', ...parts.runtime, ...rest] };
    }
  }
}

function npmLaunch(offer: PackageOffer, pinned: string, { runtime, args }: Parts): LaunchWords {
  const command = launcherOf(offer);
  const { registry } = offer;
  const isConfirmed = command === 'bunx' || runtime.some((word) => word === '-y' || word === '--yes');
  const env = isForeign(registry, 'npmjs.org') ? { npm_config_registry: registry ?? '' } : undefined;
  return {
    command,
    args: [...(isConfirmed ? [] : ['-y']), ...runtime, pinned, ...args],
    ...(env && { env }),
  };
}

/** Without `-i` the container has no stdin; its variables are passed by name, so that no value is on a command line. */
function containerLaunch(offer: PackageOffer, { runtime, args, variables }: Parts): LaunchWords {
  const { registry, identifier, version } = offer;
  const usual = ['run', '-i', '--interactive', '--rm', '-it'];
  const passed = variables.flatMap((name) => ['-e', name]);
  const host = isForeign(registry, 'docker.io') ? `${registry?.replace(/^https?:\/\//, '').replace(/\/$/, '')}/` : '';
  const isTagged = /@sha256:|:[\w.-]+$/.test(identifier.split('/').at(-1) ?? '');
  const tag = isTagged || version === undefined ? '' : version.startsWith('sha256:') ? `@${version}` : `:${version}`;
  const image = `${identifier.startsWith(host) ? '' : host}${identifier}${tag}`;
  return {
    command: launcherOf(offer),
    args: ['run', '-i', '--rm', ...passed, ...runtime.filter((word) => !usual.includes(word)), image, ...args],
  };
}

/** True if the file names another registry than the usual one, whose address the launcher's own settings may replace. */
function isForeign(registry: string | undefined, domain: string): boolean {
  if (registry === undefined) return false;
  const host = URL.canParse(registry) ? new URL(registry).hostname : registry;
  return host !== domain && !host.endsWith(`.${domain}`);
}
