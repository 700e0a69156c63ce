/**
 * Loaded into mcpx by `call.mjs`: counts what calls cost, without the clock. The parent process sends commands over the IPC channel:
 * `begin` and `end` (the source files and functions that run, and the deepest stack of mcpx's own functions at a write),
 * `sample` and `sampled` (bytes allocated), `written` (bytes written to files since the start).
 */
import fs from 'node:fs';
import { Session } from 'node:inspector/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Duplex, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

const SOURCE = new URL('../../src/', import.meta.url).href;
/** ms after which the counters and the log have recorded the call. */
const DEFERRED = 200;
/** Mean bytes between two samples of the heap. */
const SAMPLING = 512;
const session = new Session();
session.connect();
let deepest = [];
let written = 0;

function recordStack() {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 500;
  const frames = new Error().stack.split('\n').filter((line) => line.includes(SOURCE));
  Error.stackTraceLimit = stackTraceLimit;
  if (frames.length > deepest.length) deepest = frames.map((line) => line.trim().replace(SOURCE, ''));
}

function watchWrites() {
  // Duplex has its own copy of the method, which sockets and pipes inherit.
  for (const { prototype } of [Writable, Duplex]) {
    const { write } = prototype;
    prototype.write = function (...args) {
      recordStack();
      return write.apply(this, args);
    };
  }
}

/** Counts the bytes that are written to files; standard output and standard error are not files of mcpx. */
function watchFiles() {
  for (const name of ['writeSync', 'writeFileSync', 'appendFileSync']) {
    const write = fs[name];
    fs[name] = (file, data, ...rest) => {
      if (file !== 1 && file !== 2) written += Buffer.byteLength(data);
      return write(file, data, ...rest);
    };
  }
  syncBuiltinESMExports();
}

const allocatedIn = ({ selfSize, children }) => children.reduce((sum, child) => sum + allocatedIn(child), selfSize);

const commands = {
  async begin() {
    watchWrites();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    deepest = [];
  },
  async end() {
    await delay(DEFERRED);
    const frames = deepest;
    const { result } = await session.post('Profiler.takePreciseCoverage');
    await session.post('Profiler.stopPreciseCoverage');
    const ran = result
      .filter(({ url }) => url.startsWith(SOURCE))
      .map(({ url, functions }) => ({ file: url.slice(SOURCE.length), calls: callsOf(functions) }))
      .filter(({ calls }) => calls > 0);
    const functions = ran.reduce((sum, { calls }) => sum + calls, 0);
    return { files: ran.map(({ file }) => file).sort(), frames, functions };
  },
  async sample() {
    const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    await session.post('HeapProfiler.startSampling', { samplingInterval: SAMPLING, ...all });
  },
  async sampled() {
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return { bytes: allocatedIn(profile.head) };
  },
  written: async () => ({ bytes: written }),
};

const callsOf = (functions) => functions.reduce((sum, { ranges }) => sum + ranges[0].count, 0);

watchFiles();
process.on('message', async (command) => process.send({ command, ...(await commands[command]()) }));
process.channel.unref();
