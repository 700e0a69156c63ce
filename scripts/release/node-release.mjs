/** A Node that npm has no package of, from the release of Node itself or a mirror of it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { formatSize, logStep } from '../log.mjs';
import { BuildError, sha256 } from '../project.mjs';
import { readFromTar } from './tar.mjs';

/** The folder with one subfolder per version. `MCPX_NODE_DIST` names another URL, also a `file:` one. */
const DIST = 'https://nodejs.org/dist/';

/** Throws unless the bytes have the pinned hash. */
export function verifySha256(bytes, expected, subject) {
  const found = sha256(bytes);
  if (found === expected) return;
  throw new BuildError(`"${subject}" is not the pinned one: expected ${expected}, found ${found}`, {
    hint: 'rm -rf .cache && npm run build',
  });
}

async function download(url) {
  try {
    if (url.protocol === 'file:') return readFileSync(fileURLToPath(url));
    const response = await fetch(url);
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const reason = error.cause?.code ?? error.code ?? error.message;
    throw new BuildError(`cannot download "${url}" (${reason}), and npm has no package of it`, {
      hint: 'name a mirror: MCPX_NODE_DIST=https://mirror.example.com/dist/ npm run build',
      code: 'no-node',
      cause: error,
    });
  }
}

/** Returns the file of the binary. The download stays in the cache, because the pinned hash is that of the download. */
export async function releasedNode(pin, { version, folder, dist = process.env.MCPX_NODE_DIST ?? DIST }) {
  const cached = join(folder, 'download', basename(pin.download));
  if (!existsSync(cached) || sha256(readFileSync(cached)) !== pin.sha256) {
    await logStep('node', async () => {
      const bytes = await download(new URL(`v${version}/${pin.download}`, dist.replace(/\/*$/, '/')));
      verifySha256(bytes, pin.sha256, pin.download);
      mkdirSync(join(folder, 'download'), { recursive: true });
      writeFileSync(cached, bytes);
      return `downloaded ${pin.download}, ${formatSize(bytes.length)}, hash fits`;
    });
  }
  const bytes = readFileSync(cached);
  const binary = pin.download.endsWith('.tar.gz') ? readFromTar(gunzipSync(bytes), pin.binary) : bytes;
  if (binary === undefined) throw new BuildError(`"${pin.download}" has no file "${pin.binary}"`);
  const file = join(folder, basename(pin.binary));
  writeFileSync(file, binary, { mode: 0o755 });
  return file;
}
