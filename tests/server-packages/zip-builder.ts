/** Builds ZIP archives with any header, also false ones, for the tests of bundles. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  path: string;
  content?: string | Buffer;
  /** The mode of Unix with the type of the file; a regular file without one. */
  mode?: number;
  /** The uncompressed size that the headers declare, if it is not the real one. */
  declared?: number;
  /** The compression method that the headers declare (default 8, deflate). */
  method?: number;
  flags?: number;
  /** The checksum that the headers declare, if it is not the real one. */
  crc?: number;
}

const UNIX = 3 << 8;

export function buildZip(entries: readonly ZipEntry[], comment = ''): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const { path, content = '', mode = 0, declared, method = 8, flags = 0x800, crc } of entries) {
    const name = Buffer.from(path);
    const plain = Buffer.from(content);
    const data = method === 8 ? deflateRawSync(plain) : plain;
    const size = declared ?? plain.length;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(20, 4);
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt32LE(crc ?? crc32(plain), 14);
    local.writeUInt32LE(data.length, 18);
    local.writeUInt32LE(size, 22);
    local.writeUInt16LE(name.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(UNIX | 20, 4);
    local.copy(central, 6, 4, 30);
    central.writeUInt32LE((mode << 16) >>> 0, 38);
    central.writeUInt32LE(offset, 42);
    locals.push(local, name, data);
    centrals.push(central, name);
    offset += local.length + name.length + data.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(Buffer.byteLength(comment), 20);
  return Buffer.concat([...locals, directory, end, Buffer.from(comment)]);
}

/** A manifest that is valid, with other fields on top. */
export function manifestText(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    manifest_version: '0.3',
    name: 'notes',
    version: '1.0.0',
    description: 'Notes',
    author: { name: 'Ada' },
    server: {
      type: 'node',
      entry_point: 'server.js',
      mcp_config: { command: 'node', args: ['${__dirname}/server.js'] },
    },
    ...fields,
  });
}
