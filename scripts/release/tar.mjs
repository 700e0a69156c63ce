/** Reads single files out of a tar archive in memory; enough of the format for archives made by npm. */
import { BuildError } from '../project.mjs';

const BLOCK = 512;

const text = (block, from, to) => block.toString('utf8', from, to).split('\0', 1)[0];

/** The header's checksum is the sum of its bytes with the checksum field itself read as spaces. */
function checksumFits(block) {
  let sum = 8 * 0x20;
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += block[i];
  return sum === Number.parseInt(text(block, 148, 156), 8);
}

/** Every regular file of the archive as `{name, data}`; `data` is a view, not a copy. */
export function* tarEntries(archive) {
  let offset = 0;
  while (offset + BLOCK <= archive.length) {
    const header = archive.subarray(offset, offset + BLOCK);
    if (header.every((byte) => byte === 0)) return;
    if (!checksumFits(header)) throw new BuildError(`the archive is damaged at byte ${offset}`);
    const size = Number.parseInt(text(header, 124, 136), 8);
    const start = offset + BLOCK;
    if (start + size > archive.length) throw new BuildError('the archive is cut short');
    const prefix = text(header, 257, 262) === 'ustar' ? text(header, 345, 500) : '';
    const kind = String.fromCharCode(header[156]);
    if (kind === '0' || kind === '\0') {
      yield {
        name: prefix === '' ? text(header, 0, 100) : `${prefix}/${text(header, 0, 100)}`,
        data: archive.subarray(start, start + size),
      };
    }
    offset = start + Math.ceil(size / BLOCK) * BLOCK;
  }
}

/** The bytes of one file, by its full name in the archive; undefined when it is not there. */
export function readFromTar(archive, name) {
  for (const entry of tarEntries(archive)) if (entry.name === name) return entry.data;
  return undefined;
}
