/** Knows when a build can be skipped: nothing it depends on has changed and what it wrote is still there, unchanged. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { ROOT, readJson, sha256 } from '../project.mjs';

/** The inputs of every build, besides the tools of the machine. */
const INPUTS = [
  'src',
  'scripts',
  'sea-config.json',
  'mcpx.schema.json',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'LICENSE',
];

/** Every file below a path, sorted, so that the hash does not depend on the file system. */
export function filesBelow(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
}

/** One hash over the names and contents of all inputs, and over `tools`, whatever else changes the outcome. */
export function hashInputs(root = ROOT, tools = []) {
  const lines = INPUTS.flatMap((input) => filesBelow(join(root, input))).map(
    (file) => `${relative(root, file).split(sep).join('/')} ${sha256(readFileSync(file))}`,
  );
  return sha256([...lines, ...tools].join('\n'));
}

const stampFile = (folder, name) => join(folder, `.stamp-${name}.json`);

/** True when the last build of this name had the same inputs and its outputs are as it left them. */
export function isFresh(folder, name, inputs) {
  const file = stampFile(folder, name);
  if (!existsSync(file)) return false;
  const stamp = readJson(file);
  if (stamp.inputs !== inputs) return false;
  return Object.entries(stamp.outputs).every(([output, hash]) => {
    const path = join(folder, output);
    return existsSync(path) && sha256(readFileSync(path)) === hash;
  });
}

/** Remembers a finished build. `outputs` are file names in `folder`. */
export function writeStamp(folder, name, { inputs, outputs }) {
  const hashes = outputs.map((output) => [output, sha256(readFileSync(join(folder, output)))]);
  const file = stampFile(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ inputs, outputs: Object.fromEntries(hashes) }, null, 2));
}
