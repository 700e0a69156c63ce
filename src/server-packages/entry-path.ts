/** Checks the path of a file in an archive: it must stay below the folder into which the archive is unpacked, on every system. */

const MAX_PATH = 1024;
const MAX_DEPTH = 64;
/** Bytes of one name in the file systems of Linux and macOS. */
const MAX_NAME = 255;
/** Names that Windows takes for devices, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Returns the reason for which a path is refused; undefined if it is safe. The path has forward slashes. */
export function unsafePath(path: string, platform: NodeJS.Platform): string | undefined {
  if (path === '') return 'it is empty';
  if (path.length > MAX_PATH) return `it is longer than ${MAX_PATH} characters`;
  if (/[\0-\x1f\x7f]/.test(path)) return 'it has a control character';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'it is absolute';
  // A colon begins the name of a stream in NTFS.
  if (path.includes(':')) return 'it has a colon';
  const parts = path.replace(/\/$/, '').split('/');
  if (parts.length > MAX_DEPTH) return `it is deeper than ${MAX_DEPTH} folders`;
  if (parts.includes('..')) return 'it leaves its folder';
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME)) return `a part is longer than ${MAX_NAME} bytes`;
  if (parts.some((part) => part === '' || part === '.')) return 'it has an empty part';
  if (platform !== 'win32') return undefined;
  if (parts.some((part) => /[. ]$/.test(part))) return 'a part ends with a dot or a space';
  return parts.some((part) => DEVICE.test(part)) ? 'a part is the name of a device' : undefined;
}

/** Returns the key under which two paths are the same file. Windows and macOS ignore case and the encoding of accents. */
export function pathKey(path: string, platform: NodeJS.Platform): string {
  const plain = path.replace(/\/$/, '').normalize('NFC');
  return platform === 'linux' ? plain : plain.toLowerCase();
}

/** Returns the folders above a path, such as `a` and `a/b` for `a/b/c`. */
export function foldersAbove(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
