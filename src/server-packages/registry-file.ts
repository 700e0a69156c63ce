/** Reads a `server.json` of the MCP registry: the packages and URLs under which a server is offered. Older files have snake_case keys. */
import { isRecord, type JsonRecord, own } from '../config/json-data.ts';
import { McpxError } from '../errors.ts';
import { shownText } from './shown-text.ts';

export interface RegistryServer {
  /** The part of the name after the slash. */
  name: string;
  version: string;
  offers: Offer[];
}

export const PACKAGE_KINDS = ['npm', 'pypi', 'oci', 'nuget', 'mcpb'] as const;
export type PackageKind = (typeof PACKAGE_KINDS)[number];

export type Offer = PackageOffer | RemoteOffer;

export interface PackageOffer {
  kind: PackageKind;
  /** The name in its registry, or the URL of a bundle. */
  identifier: string;
  version: string | undefined;
  /** The address of the registry, if the file names one. */
  registry: string | undefined;
  sha256: string | undefined;
  runtime: string | undefined;
  /** The transport of the started program; only `stdio` can be run. */
  transport: string;
  runtimeArguments: Argument[];
  packageArguments: Argument[];
  variables: NamedValue[];
}

export interface RemoteOffer {
  kind: 'http' | 'sse';
  url: string;
  headers: NamedValue[];
  /** The parts of the URL in braces. */
  parts: ReadonlyMap<string, ValueRule>;
}

/** A value that the file fixes, or that the user gives. */
export interface ValueRule {
  doc: string;
  required: boolean;
  secret: boolean;
  format: string;
  /** A fixed value; `{name}` in it stands for a part. */
  value: string | undefined;
  fallback: string | undefined;
  choices: string[];
  parts: ReadonlyMap<string, ValueRule>;
}

export interface NamedValue extends ValueRule {
  name: string;
}

export interface Argument extends ValueRule {
  /** The flag with its dashes; undefined for a positional argument. */
  flag: string | undefined;
  /** The key under which the user gives the value. */
  key: string;
  repeated: boolean;
}

/** Throws `config` for a file that describes no server. */
export function readRegistryFile(data: unknown, file: string): RegistryServer {
  const wrapped = isRecord(data) ? own(data, 'server') : undefined;
  // The registry's API wraps the file.
  const server = isRecord(wrapped) ? wrapped : data;
  if (!isRecord(server)) throw wrong(file, 'it is not an object');
  const name = field(server, 'name');
  if (typeof name !== 'string' || name === '') {
    const hint = isRecord(own(server, 'mcpServers')) ? `mcpx import ${file}` : undefined;
    throw wrong(file, 'it has no "name"', hint);
  }
  const detail = field(server, 'versionDetail');
  const version = field(server, 'version') ?? (isRecord(detail) ? own(detail, 'version') : undefined);
  const offers = [
    ...records(field(server, 'packages')).flatMap(readPackage),
    ...records(field(server, 'remotes')).flatMap(readRemote),
  ];
  if (offers.length === 0) throw wrong(file, 'it has neither "packages" nor "remotes" that mcpx can run');
  return { name: name.split('/').at(-1) ?? name, version: typeof version === 'string' ? version : '', offers };
}

function wrong(
  file: string,
  reason: string,
  hint = 'name a server.json of the MCP registry, or a .mcpb bundle',
): McpxError {
  return new McpxError('config', `"${file}" is not a server.json: ${reason}`, { hint });
}

/** Returns a field under its name or its name in snake_case. */
function field(record: JsonRecord, key: string): unknown {
  return (
    own(record, key) ??
    own(
      record,
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    )
  );
}

function text(record: JsonRecord, key: string): string | undefined {
  const value = field(record, key);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function records(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function readPackage(record: JsonRecord): PackageOffer[] {
  const written = text(record, 'registryType') ?? text(record, 'registryName');
  const kind = PACKAGE_KINDS.find((one) => one === (written === 'docker' ? 'oci' : written));
  const identifier = text(record, 'identifier') ?? text(record, 'name');
  // A name that begins with a dash would be an option of the launcher.
  if (kind === undefined || identifier === undefined || identifier.startsWith('-')) return [];
  const transport = field(record, 'transport');
  return [
    {
      kind,
      identifier,
      version: text(record, 'version'),
      registry: text(record, 'registryBaseUrl'),
      sha256: text(record, 'fileSha256')?.toLowerCase(),
      runtime: text(record, 'runtimeHint'),
      transport: (isRecord(transport) ? text(transport, 'type') : undefined) ?? 'stdio',
      runtimeArguments: records(field(record, 'runtimeArguments')).map(readArgument),
      packageArguments: records(field(record, 'packageArguments')).map(readArgument),
      variables: records(field(record, 'environmentVariables')).flatMap(readNamed),
    },
  ];
}

function readRemote(record: JsonRecord): RemoteOffer[] {
  const type = text(record, 'type') ?? text(record, 'transportType');
  const url = text(record, 'url');
  if (url === undefined) return [];
  const kind = type === 'sse' ? 'sse' : 'http';
  return [{ kind, url, headers: records(field(record, 'headers')).flatMap(readNamed), parts: readParts(record) }];
}

function readNamed(record: JsonRecord): NamedValue[] {
  const name = text(record, 'name');
  return name === undefined ? [] : [{ name, ...readRule(record) }];
}

function readArgument(record: JsonRecord, index: number): Argument {
  const flag = field(record, 'type') === 'named' ? text(record, 'name') : undefined;
  const key = flag?.replace(/^-+/, '').replace(/=$/, '') ?? text(record, 'valueHint') ?? `argument-${index + 1}`;
  return { flag, key, repeated: field(record, 'isRepeated') === true, ...readRule(record) };
}

function readRule(record: JsonRecord): ValueRule {
  const choices = field(record, 'choices');
  const fallback = field(record, 'default');
  return {
    doc: shownText(text(record, 'description')),
    required: field(record, 'isRequired') === true,
    secret: field(record, 'isSecret') === true,
    format: text(record, 'format') ?? 'string',
    value: text(record, 'value'),
    fallback: fallback === undefined || fallback === null ? undefined : String(fallback),
    choices: Array.isArray(choices) ? choices.map(String) : [],
    parts: readParts(record),
  };
}

function readParts(record: JsonRecord): ReadonlyMap<string, ValueRule> {
  const variables = field(record, 'variables');
  const pairs = Object.entries(isRecord(variables) ? variables : {});
  return new Map(pairs.flatMap(([name, rule]) => (isRecord(rule) ? [[name, readRule(rule)] as const] : [])));
}

/** Describes an offer in a few words, such as `npm @scope/name`. */
export function offerText(offer: Offer): string {
  return 'url' in offer ? `${offer.kind} ${offer.url}` : `${offer.kind} ${offer.identifier}`;
}
