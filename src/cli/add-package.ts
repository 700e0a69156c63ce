/** Plans the server of a `server.json` or a bundle for `mcpx add`: chooses an offer, collects its values, and unpacks a bundle. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readClientFile } from '../client-config/client-file.ts';
import { environmentOf } from '../config/environment.ts';
import { findProgram } from '../config/find-program.ts';
import type { JsonRecord } from '../config/json-data.ts';
import { parseSource } from '../config/jsonc-file.ts';
import { maskArgs } from '../config/redact.ts';
import { serverName } from '../config/server-names.ts';
import { TYPES } from '../config/server-target.ts';
import { McpxError } from '../errors.ts';
import { escapeInvisible } from '../invisible-characters.ts';
import { type Bundle, readBundle, removeFolder, unpackBundle } from '../server-packages/bundle.ts';
import { bundleEntry } from '../server-packages/bundle-entry.ts';
import { launcherOf, offerEntry, offerInputs } from '../server-packages/registry-entry.ts';
import {
  type Offer,
  offerText,
  PACKAGE_KINDS,
  type PackageOffer,
  type RegistryServer,
  readRegistryFile,
} from '../server-packages/registry-file.ts';
import type { FileRequest } from './add-request.ts';
import { type AddTarget, refuseTaken } from './add-target.ts';
import type { Flags, Invocation } from './command.ts';
import { collectValues } from './package-values.ts';
import type { PlannedServer } from './planned-server.ts';
import { whileWaiting } from './progress.ts';
import { shellWord } from './shell-word.ts';

export function planPackage(request: FileRequest, target: AddTarget, invocation: Invocation): Promise<PlannedServer> {
  const { flags } = invocation;
  const file = resolve(environmentOf().cwd, request.file);
  if (flags.has('env-file')) {
    throw new McpxError('usage', `"${basename(file)}" takes no --env-file`, {
      hint: 'give its values with -e, -H or --set',
    });
  }
  const planned = { ...request, file };
  return request.kind === 'bundle'
    ? planBundle(planned, target, invocation)
    : planRegistry(planned, target, invocation);
}

async function planRegistry(request: FileRequest, target: AddTarget, invocation: Invocation): Promise<PlannedServer> {
  const { file } = request;
  const { flags } = invocation;
  const { bytes, text } = readClientFile(file);
  if (bytes === undefined)
    throw new McpxError('usage', `"${file}" does not exist`, { hint: 'name a server.json that exists' });
  const server = readRegistryFile(parseSource(file, text).value, file);
  const offer = chooseOffer(server, flags, file);
  const name = request.name ?? typeableName(server.name);
  refuseTaken(name, target, flags);
  if (offer.kind === 'mcpb') {
    const bundle = localBundle(offer, file);
    return planBundle({ kind: 'bundle', name, file: bundle }, target, invocation, offer.sha256);
  }
  const inputs = offerInputs(offer);
  const collected = await collectValues({ name, file, inputs, isRemote: 'url' in offer }, invocation);
  const entry = withMore(offerEntry(offer, collected.values), collected.more);
  const others = server.offers.filter((one) => one !== offer).map((one) => `--type ${one.kind} (${offerText(one)})`);
  const notes = [
    ...(others.length === 0 ? [] : [escapeInvisible(`used ${offerText(offer)}; there is also ${others.join(', ')}`)]),
    ...launchNotes(entry),
  ];
  return {
    name,
    entry,
    secrets: collected.secrets,
    notes,
    facts: { package: offerText(offer), version: server.version },
  };
}

/** Returns the name of a package as a name of a server that needs no quotes in a shell. */
function typeableName(written: string): string {
  return serverName(written.trim().replace(/\s+/g, '-')).name;
}

/** Shows the command, which the author of the file has chosen and not the user. */
function launchNotes({ command, args }: JsonRecord): string[] {
  if (typeof command !== 'string') return [];
  const words = Array.isArray(args) ? maskArgs(args.map(String)) : [];
  return [escapeInvisible(`it runs ${[command, ...words].map(shellWord).join(' ')}`)];
}

/** Adds variables and headers that the file does not name. */
function withMore(entry: JsonRecord, more: Record<string, Record<string, string>>): JsonRecord {
  const pairs = Object.entries(more).map(([key, values]) => [
    key,
    { ...(entry[key] as object | undefined), ...values },
  ]);
  return { ...entry, ...Object.fromEntries(pairs.filter(([, values]) => Object.keys(values as object).length > 0)) };
}

/** Returns the offer of `--type`, else the first package whose launcher is installed, else the first package, else the first URL. */
function chooseOffer({ offers }: RegistryServer, flags: Flags, file: string): Offer {
  const type = flags.value('type')?.toLowerCase();
  const usable = offers.filter((offer) => 'url' in offer || offer.transport === 'stdio');
  const wanted = type === undefined ? usable : usable.filter((offer) => fits(offer, type));
  const packages = wanted.flatMap((one) => ('url' in one ? [] : [one]));
  const installed = packages.filter((one) => findProgram(launcherOf(one), environmentOf()) !== undefined);
  const [offer] = [...installed, ...packages, ...wanted.filter((one) => 'url' in one)];
  if (offer !== undefined) return offer;
  const shown = usable.map(({ kind }) => kind);
  if (type !== undefined && shown.length > 0) {
    throw new McpxError('usage', `"${file}" offers no server of type "${type}"`, {
      hint: `use ${[...new Set(shown)].map((kind) => `--type ${kind}`).join(' or ')}`,
    });
  }
  throw new McpxError(
    'refused',
    `the packages of "${file}" start an HTTP server of their own, which mcpx does not start`,
    {
      hint: 'start it yourself, and add its URL: mcpx add <name> <url>',
    },
  );
}

function fits(offer: Offer, type: string): boolean {
  if (PACKAGE_KINDS.some((kind) => kind === type)) return offer.kind === type;
  const known = TYPES.get(type);
  if (known === 'stdio') return !('url' in offer);
  return offer.kind === known;
}

/** Returns the bundle beside the `server.json`; mcpx downloads nothing. */
function localBundle({ identifier }: PackageOffer, file: string): string {
  const name = basename(identifier.replace(/[?#].*$/, ''));
  const path = join(dirname(file), name);
  if (existsSync(path)) return path;
  throw new McpxError('usage', `the bundle "${name}" of "${file}" is not beside it, and mcpx downloads no files`, {
    hint: `curl -L -o ${path} ${identifier}, then run the command again`,
  });
}

async function planBundle(
  request: FileRequest,
  target: AddTarget,
  invocation: Invocation,
  expected?: string,
): Promise<PlannedServer> {
  const { flags, stop } = invocation;
  const { file } = request;
  const world = environmentOf();
  const bundle = await readBundle(file, world);
  checkFits(bundle, expected, world.platform);
  const { manifest, sha256 } = bundle;
  const name = request.name ?? typeableName(manifest.name);
  refuseTaken(name, target, flags);
  const { values, secrets, more } = await collectValues(
    { name, file, inputs: manifest.inputs, isRemote: false },
    invocation,
  );
  const folder = await unpacked(bundle, { server: name, world, signal: stop });
  const entry = withMore(bundleEntry(manifest, { folder, values, world }), more);
  const notes = [
    `${manifest.title} ${manifest.version}, sha256 ${sha256}`,
    ...(bundle.isSigned ? ['the bundle is signed; mcpx does not check signatures'] : []),
    `unpacked ${bundle.files.length} ${bundle.files.length === 1 ? 'file' : 'files'} into ${folder}`,
    ...launchNotes(entry),
  ];
  const facts = { version: manifest.version, sha256, folder };
  return { name, entry, secrets, notes, facts, discard: () => removeFolder(folder) };
}

/** A stop ends the wait before the unpacking, which leaves nothing behind only when it has ended too. */
function unpacked(bundle: Bundle, options: Parameters<typeof unpackBundle>[1]): Promise<string> {
  const unpacking = unpackBundle(bundle, options);
  return whileWaiting(`unpacking ${basename(bundle.file)}`, unpacking, options.signal).catch(async (error: unknown) => {
    const folder = await unpacking.catch(() => undefined);
    if (folder !== undefined) removeFolder(folder);
    throw error;
  });
}

function checkFits(
  { file, sha256, manifest: { title, platforms } }: Bundle,
  expected: string | undefined,
  platform: string,
): void {
  if (expected !== undefined && expected !== sha256) {
    throw new McpxError('refused', `"${file}" has the sha256 ${sha256}, but its server.json says ${expected}`, {
      hint: 'get the file again from its author; mcpx has written nothing',
    });
  }
  if (platforms === undefined || platforms.includes(platform)) return;
  throw new McpxError('refused', `"${title}" runs on ${platforms.join(', ')}, not on ${platform}`, {
    hint: 'ask its author for a bundle for this system',
  });
}
