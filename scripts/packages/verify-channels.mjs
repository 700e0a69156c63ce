/** Verifies the files for package managers against the files of the release that they name. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import Ajv from 'ajv';
import { parse } from 'yaml';
import { log } from '../log.mjs';
import { at, BuildError, hostTarget, readJson } from '../project.mjs';
import { readSums, SUMS } from './checksums.mjs';
import { archiveName } from './contents.mjs';
import { expectText, inTempFolder, run } from './programs.mjs';

const FORMULA = at('scripts', 'packages', 'formula.rb');
const HOSTS = { 'linux-x64': ['linux', 'intel'], 'darwin-x64': ['macos', 'intel'], 'darwin-arm64': ['macos', 'arm'] };

/** Throws unless the release has the file at the end of the URL, with this hash. */
function expectFile(where, sums, url, sha256) {
  const name = basename(new URL(url).pathname);
  if (sums.get(name) === sha256.toLowerCase()) return;
  throw new BuildError(`"${where}" has the hash ${sha256} for "${name}", and SHA256SUMS has ${sums.get(name)}`);
}

/** Throws unless the zip has the file. */
function expectInZip(where, folder, url, inside) {
  const zip = basename(new URL(url).pathname);
  const listed = run('unzip', ['-Z1', join(folder, zip)]);
  if (listed === undefined || listed.split('\n').includes(inside)) return;
  throw new BuildError(`"${where}" names "${inside}", which "${zip}" does not have`);
}

/** Evaluates the formula for every system, then installs and tests the one of this machine, all without Homebrew. */
async function verifyFormula(folder, sums, targets) {
  const formula = join(folder, 'mcpx.rb');
  const said = run('ruby', [FORMULA, formula]);
  if (said === undefined) return log('skipped', 'mcpx.rb: the program ruby is not installed');
  const found = JSON.parse(said).filter(({ url }) => url !== undefined);
  for (const { url, sha256 } of found) expectFile('mcpx.rb', sums, url, sha256);
  log('verified', `mcpx.rb with ruby: archives of ${found.map(({ os, cpu }) => `${os} ${cpu}`).join(', ')}`);
  const host = HOSTS[hostTarget()];
  if (host === undefined || !targets.includes(hostTarget())) return;
  await inTempFolder((work) => {
    run('tar', ['-xzf', join(folder, `${archiveName(hostTarget())}.tar.gz`), '-C', work]);
    const args = [FORMULA, formula, ...host, join(work, archiveName(hostTarget())), join(work, 'prefix')];
    const env = { PATH: process.env.PATH, HOME: work };
    expectText('mcpx.rb', run('ruby', args, { env }), 'installed and tested');
  });
  log('verified', 'mcpx.rb: its install and its test run on the archive of this machine');
}

function verifyScoop(folder, sums) {
  const { architecture } = readJson(join(folder, 'mcpx.json'));
  for (const { url, hash, extract_dir: inside } of Object.values(architecture)) {
    expectFile('mcpx.json', sums, url, hash);
    expectInZip('mcpx.json', folder, url, `${inside}/mcpx.exe`);
  }
  log('verified', `mcpx.json: archives of ${Object.keys(architecture).join(', ')}`);
}

function verifyWinget(folder, sums, names) {
  const name = names.find((file) => file.endsWith('.installer.yaml'));
  const { Installers } = parse(readFileSync(join(folder, 'winget', name), 'utf8'));
  for (const { InstallerUrl, InstallerSha256, NestedInstallerFiles } of Installers) {
    expectFile(name, sums, InstallerUrl, InstallerSha256);
    for (const { RelativeFilePath } of NestedInstallerFiles) {
      expectInZip(name, folder, InstallerUrl, RelativeFilePath.replaceAll('\\', '/'));
    }
  }
  log('verified', `winget: archives of ${Installers.map(({ Architecture }) => Architecture).join(', ')}`);
}

/** The name of Scoop's schema in its repository; a manifest does not name it. */
const SCOOP_SCHEMA = 'schema.json';

/** Returns the last part of the address of the schema that a document is written for. */
function schemaOf(text, document) {
  const address = /\$schema=(\S+)/.exec(text)?.[1] ?? document.$schema;
  return address === undefined ? SCOOP_SCHEMA : basename(new URL(address).pathname);
}

/** Checks each document against its published JSON Schema, if the folder has it under the name of its address. */
function verifySchemas(folder, names, schemas) {
  const ajv = new Ajv({ strict: false, validateFormats: false, logger: false });
  const read = (name) => JSON.parse(readFileSync(join(schemas, name), 'utf8').replace(/^\uFEFF/, ''));
  const published = readdirSync(schemas).filter((name) => name.endsWith('.json'));
  for (const name of published) ajv.addSchema(read(name), name);
  for (const name of names) {
    const text = readFileSync(join(folder, name), 'utf8');
    const document = parse(text);
    const schema = schemaOf(text, document);
    if (!published.includes(schema)) {
      log('not run', `${name}: "${schemas}" has no ${schema}`);
      continue;
    }
    if (!ajv.validate(schema, document)) throw new BuildError(`"${name}": ${ajv.errorsText()}`);
    log('verified', `${name} with ${schema}`);
  }
}

/** Verifies the formula, the manifests and the bill of materials. `schemas` is a folder with published JSON Schemas. */
export async function verifyChannels(folder, targets, schemas) {
  const sums = readSums(readFileSync(join(folder, SUMS), 'utf8'));
  const has = (name) => existsSync(join(folder, name));
  if (has('mcpx.rb')) await verifyFormula(folder, sums, targets);
  if (has('mcpx.json')) verifyScoop(folder, sums);
  const winget = has('winget') ? readdirSync(join(folder, 'winget')) : [];
  if (winget.length > 0) verifyWinget(folder, sums, winget);
  const names = [
    'mcpx.cdx.json',
    ...(has('mcpx.json') ? ['mcpx.json'] : []),
    ...winget.map((name) => `winget/${name}`),
  ];
  if (schemas !== undefined) verifySchemas(folder, names, schemas);
  else log('not run', `the published schemas of ${names.join(', ')}: name their folder with --schemas`);
}
