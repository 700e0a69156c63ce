/** Names of servers: what may stand in a tool's name and in a URL, and what becomes of other names. */

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export interface ServerName {
  name: string;
  /** As written, where it had to be changed. */
  title?: string;
}

export function serverName(written: string): ServerName {
  return NAME.test(written) ? { name: written } : { name: slug(written), title: written };
}

/** Names are compared without case, so that `GitHub` and `github` are one. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}

function slug(written: string): string {
  const plain = written
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '');
  // Nothing is left of a name in Chinese, say: a number that stays the same stands for it.
  return plain === '' ? `server-${hash(written)}` : plain;
}

/** FNV-1a, 32 bits, base 36. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value.toString(36);
}
