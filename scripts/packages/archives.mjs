/** Writes tar, zip and ar archives in memory. The same entries give the same bytes on every machine. */
import { spawnSync } from 'node:child_process';
import { constants, crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { BuildError } from '../project.mjs';

const BLOCK = 512;
const BEST = constants.Z_BEST_COMPRESSION;

/** One file of an archive: `name` with forward slashes, `data`, and `mode` (default 0o644). A name with a slash at its end is a folder. */
function tarHeader({ name, data, mode, link }, mtime) {
  if (Buffer.byteLength(name) > 100) throw new BuildError(`"${name}" is too long for a tar archive`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value, at, length) => header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  const isFolder = name.endsWith('/');
  header.write(name, 0);
  octal(mode ?? (isFolder ? 0o755 : 0o644), 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(data.length, 124, 12);
  octal(mtime, 136, 12);
  header.write(' '.repeat(8), 148);
  header.write(link === undefined ? (isFolder ? '5' : '0') : '2', 156);
  if (link !== undefined) header.write(link, 157);
  header.write('ustar\x0000', 257, 'latin1');
  header.write('root', 265);
  header.write('root', 297);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** Returns a ustar archive. `mtime` is in seconds. */
export function tar(entries, mtime) {
  const parts = entries.flatMap((entry) => {
    const data = entry.data ?? Buffer.alloc(0);
    return [tarHeader({ ...entry, data }, mtime), data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

/** gzip without a file name and a time. zlib writes the number of the system into byte 9. */
export function gzip(bytes) {
  const packed = gzipSync(bytes, { level: BEST });
  packed[9] = 255;
  return packed;
}

/** xz by the program of that name; undefined if it is not installed. */
export function xz(bytes) {
  const { error, status, stdout, stderr } = spawnSync(
    'xz',
    ['--compress', '--stdout', '-6', '--threads=2', '--block-size=24MiB'],
    {
      input: bytes,
      maxBuffer: 1 << 30,
    },
  );
  if (error?.code === 'ENOENT') return undefined;
  if (status !== 0) throw new BuildError(`xz failed: ${error?.message ?? stderr}`);
  return stdout;
}

/** The time of a zip entry has a resolution of 2 s and begins in 1980. UTC, so that every machine writes the same. */
function dosTime(mtime) {
  const date = new Date(Math.max(mtime, 315_532_800) * 1000);
  const day = ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate();
  const time = (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1);
  return { day, time };
}

/** Returns a zip archive with deflated entries. */
export function zip(entries, mtime) {
  const { day, time } = dosTime(mtime);
  const local = [];
  const central = [];
  let offset = 0;
  for (const { name, data, mode = 0o644 } of entries) {
    const packed = deflateRawSync(data, { level: BEST });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x0800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt16LE(time, 6);
    common.writeUInt16LE(day, 8);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((0o100000 | mode) << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    // "Version made by" 3 is Unix, so that the mode counts.
    central.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, tail, Buffer.from(name));
    local.push(file);
    offset += file.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, directory, end]);
}

/** Returns an ar archive in the common format, which Debian packages use. */
export function ar(entries, mtime) {
  const parts = entries.flatMap(({ name, data }) => {
    const fields = [name.padEnd(16), String(mtime).padEnd(12), '0'.padEnd(6), '0'.padEnd(6), '100644'.padEnd(8)];
    const header = `${fields.join('')}${String(data.length).padEnd(10)}\`\n`;
    return [Buffer.from(header, 'latin1'), data, Buffer.from(data.length % 2 === 0 ? '' : '\n')];
  });
  return Buffer.concat([Buffer.from('!<arch>\n'), ...parts]);
}
