/** One build at a time in a checkout: `npm start` and `npm test` in two terminals wait for each other. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { log } from '../log.mjs';

/** Milliseconds between two looks at the lock. */
const INTERVAL = 250;

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs and belongs to somebody else.
    return error.code === 'EPERM';
  }
}

/** Takes the lock, or returns the process that holds it. A lock whose process has died is taken over. */
function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return undefined;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const holder = Number(readFileSync(file, 'utf8'));
  if (holder > 0 && isRunning(holder)) return holder;
  rmSync(file, { force: true });
  return take(file);
}

/** Runs `work` while holding the lock file. */
export async function withLockFile(file, work) {
  mkdirSync(dirname(file), { recursive: true });
  let told = false;
  for (let holder = take(file); holder !== undefined; holder = take(file)) {
    if (!told) log('wait', `for the build of process ${holder}`);
    told = true;
    await pause(INTERVAL);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}
