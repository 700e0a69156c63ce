/** THIRD_PARTY_NOTICES: the licence texts of everything that is inside the executable. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { at, readJson } from '../project.mjs';
import { packageOf } from './bundle.mjs';

const RULE = `\n${'-'.repeat(80)}\n\n`;
const LICENCE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** The folders of the bundled packages, sorted. One package in two versions has two folders. */
export function bundledFolders(metafile) {
  const folders = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const name = packageOf(path);
    if (name === 'mcpx') continue;
    folders.add(`${path.slice(0, path.lastIndexOf('node_modules/'))}node_modules/${name}`);
  }
  return [...folders].sort();
}

/** One package's part: name, version, licence, and its licence files as they are. */
function packageNotice(folder) {
  const { name, version, license, author } = readJson(at(folder, 'package.json'));
  const texts = readdirSync(at(folder))
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(at(folder, file), 'utf8').replaceAll('\r\n', '\n').trim());
  const by = typeof author === 'string' ? author : author?.name;
  const text = texts.length > 0 ? texts.join('\n\n') : `Licence: ${license}${by ? `, by ${by}` : ''}`;
  return `${name} ${version} (${license})\n\n${text}\n`;
}

/** The whole file. `licence` is a file with the text of the embedded Node, where there is an executable. */
export function notices(metafile, { version, licence, buildFolder }) {
  const parts = ['mcpx contains the following software.\n', ...bundledFolders(metafile).map(packageNotice)];
  const comments = join(buildFolder, 'app.js.LEGAL.txt');
  if (existsSync(comments)) parts.push(`Notices in the source code\n\n${readFileSync(comments, 'utf8').trim()}\n`);
  if (licence !== undefined) {
    const text = readFileSync(licence, 'utf8').replaceAll('\r\n', '\n').trim();
    parts.push(`Node.js ${version} (the executables only)\n\n${text}\n`);
  }
  return parts.join(RULE);
}
