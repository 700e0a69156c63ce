/** SHA256SUMS: written over the files of a release, and read by the scripts that make the channels. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, sha256 } from '../project.mjs';

export const SUMS = 'SHA256SUMS';

/** Files of a release; hidden files and the sums themselves are not among them. */
export const releaseFiles = (folder) =>
  readdirSync(folder)
    .filter((name) => name !== SUMS && !name.startsWith('.') && statSync(join(folder, name)).isFile())
    .sort();

/** Writes the file in the form that `sha256sum -c` reads, and returns it as a map. */
export function writeSums(folder) {
  const sums = new Map(releaseFiles(folder).map((name) => [name, sha256(readFileSync(join(folder, name)))]));
  writeFileSync(join(folder, SUMS), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(''));
  return sums;
}

export function readSums(text) {
  return new Map(
    text
      .trim()
      .split('\n')
      .map((line) => {
        const [, sum, name] = /^([0-9a-f]{64}) [ *](\S+)$/.exec(line) ?? [];
        if (name === undefined) throw new BuildError(`SHA256SUMS has the line ${JSON.stringify(line)}`);
        return [name, sum];
      }),
  );
}

/** Throws unless every file in the sums is there with that hash. */
export function verifySums(folder) {
  const sums = readSums(readFileSync(join(folder, SUMS), 'utf8'));
  for (const [name, sum] of sums) {
    const found = sha256(readFileSync(join(folder, name)));
    if (found !== sum) throw new BuildError(`"${name}" has the checksum ${found}, and SHA256SUMS has ${sum}`);
  }
  return sums;
}
