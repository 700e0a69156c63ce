/**
 * Puts a blob into an executable with postject, in a process of its own: it prints warnings that mean nothing here and takes much memory.
 *   node inject.mjs <executable> <blob>
 */
import { readFileSync } from 'node:fs';
import { inject } from 'postject';

/** Where Node looks for an application, and the mark that tells it that there is one. */
const RESOURCE = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

const [, , executable, blob] = process.argv;
if (!readFileSync(executable).includes(`${FUSE}:0`)) throw new Error(`"${executable}" is not a plain Node`);
await inject(executable, RESOURCE, readFileSync(blob), { sentinelFuse: FUSE, machoSegmentName: 'NODE_SEA' });
