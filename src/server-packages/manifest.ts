/** Reads the `manifest.json` of an MCP bundle, versions 0.1 to 0.4 (https://github.com/modelcontextprotocol/mcpb). */
import { isRecord, type JsonRecord, own } from '../config/json-data.ts';
import type { PackageInput } from './package-input.ts';
import { shownText } from './shown-text.ts';

export interface Manifest {
  name: string;
  title: string;
  version: string;
  type: 'node' | 'python' | 'binary' | 'uv';
  entryPoint: string;
  /** Undefined for type `uv`, whose command is always the same. */
  launch: ManifestLaunch | undefined;
  /** Operating systems; undefined for all of them. */
  platforms: string[] | undefined;
  inputs: PackageInput[];
}

export interface ManifestLaunch {
  command: string;
  args: string[];
  env: Record<string, string>;
}

const VERSIONS = ['0.1', '0.2', '0.3', '0.4'];
const TYPES = ['node', 'python', 'binary', 'uv'] as const;
const KINDS = { string: 'text', number: 'number', boolean: 'boolean', directory: 'path', file: 'path' } as const;

/** A mistake in a manifest. Its text is the reason in the message about the bundle. */
export class ManifestMistake extends Error {
  override readonly name = 'ManifestMistake';
}

/** Throws `ManifestMistake`. Settings for another operating system are left out. */
export function readManifest(text: string, platform: NodeJS.Platform): Manifest {
  const data = objectOf(parsed(text), 'manifest.json');
  const format = own(data, 'manifest_version') ?? own(data, 'dxt_version');
  if (typeof format !== 'string') throw new ManifestMistake('manifest.json has no "manifest_version"');
  if (!VERSIONS.includes(format)) {
    throw new ManifestMistake(`manifest.json has the version ${JSON.stringify(format)}: mcpx reads 0.1 to 0.4`);
  }
  const server = objectOf(own(data, 'server'), '"server"');
  const type = TYPES.find((one) => one === own(server, 'type'));
  if (type === undefined) throw new ManifestMistake(`"server.type" is one of ${TYPES.join(', ')}`);
  const name = textOf(data, 'name');
  const title = own(data, 'display_name');
  return {
    name,
    title: shownText(title) || shownText(name),
    version: shownText(textOf(data, 'version')),
    type,
    entryPoint: textOf(server, 'entry_point'),
    launch: type === 'uv' && own(server, 'mcp_config') === undefined ? undefined : readLaunch(server, platform),
    platforms: platformsOf(data),
    inputs: readInputs(own(data, 'user_config')),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new ManifestMistake('manifest.json is not JSON');
  }
}

function objectOf(value: unknown, what: string): JsonRecord {
  if (isRecord(value)) return value;
  throw new ManifestMistake(`${what} is not an object`);
}

function textOf(record: JsonRecord, key: string): string {
  const value = own(record, key);
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new ManifestMistake(`manifest.json has no "${key}"`);
}

/** Returns the command with the overrides for this operating system; their variables are added to the common ones. */
function readLaunch(server: JsonRecord, platform: NodeJS.Platform): ManifestLaunch {
  const config = objectOf(own(server, 'mcp_config'), '"server.mcp_config"');
  const overrides = own(config, 'platform_overrides');
  const override = isRecord(overrides) ? own(overrides, platform) : undefined;
  const changed = isRecord(override) ? override : {};
  const command = own(changed, 'command') ?? own(config, 'command');
  if (typeof command !== 'string' || command.trim() === '') {
    throw new ManifestMistake('"server.mcp_config.command" is missing');
  }
  const args = own(changed, 'args') ?? own(config, 'args') ?? [];
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) {
    throw new ManifestMistake('"server.mcp_config.args" is not a list of texts');
  }
  return { command, args, env: { ...variables(own(config, 'env')), ...variables(own(changed, 'env')) } };
}

function variables(value: unknown): Record<string, string> {
  if (value === undefined) return {};
  const pairs = Object.entries(objectOf(value, '"server.mcp_config.env"'));
  if (pairs.some(([, text]) => typeof text !== 'string')) {
    throw new ManifestMistake('"server.mcp_config.env" has a value that is not text');
  }
  return Object.fromEntries(pairs) as Record<string, string>;
}

function platformsOf(data: JsonRecord): string[] | undefined {
  const compatibility = own(data, 'compatibility');
  const platforms = isRecord(compatibility) ? own(compatibility, 'platforms') : undefined;
  return Array.isArray(platforms) && platforms.length > 0 ? platforms.map(String) : undefined;
}

function readInputs(value: unknown): PackageInput[] {
  if (value === undefined) return [];
  return Object.entries(objectOf(value, '"user_config"')).map(([key, setting]) => {
    if (shownText(key) !== key) throw new ManifestMistake('"user_config" has a key with invisible characters');
    const option = objectOf(setting, `"user_config.${key}"`);
    const kind = own({ ...KINDS }, String(own(option, 'type'))) as PackageInput['kind'] | undefined;
    if (kind === undefined)
      throw new ManifestMistake(`"user_config.${key}.type" is one of ${Object.keys(KINDS).join(', ')}`);
    const [min, max] = [own(option, 'min'), own(option, 'max')];
    const fallback = own(option, 'default');
    return {
      key,
      option: 'set',
      doc: [own(option, 'description'), own(option, 'title')].map(shownText).find((text) => text !== '') ?? '',
      kind,
      required: own(option, 'required') === true,
      secret: own(option, 'sensitive') === true,
      multiple: own(option, 'multiple') === true,
      fallback: fallback === undefined || fallback === null ? [] : [fallback].flat().map(String),
      ...(typeof min === 'number' && { min }),
      ...(typeof max === 'number' && { max }),
    };
  });
}
