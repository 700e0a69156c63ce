/**
 * Loaded into mcpx by `call.mjs`: counts the source files whose functions run during one call, and the deepest stack of mcpx's own
 * functions at a write. The parent process says `begin` and `end` over the IPC channel.
 */
import { Session } from 'node:inspector/promises';
import { Duplex, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

const SOURCE = new URL('../../src/', import.meta.url).href;
/** ms after which the counters and the log have recorded the call. */
const DEFERRED = 200;
const session = new Session();
session.connect();
let deepest = [];

function recordStack() {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 500;
  const frames = new Error().stack.split('\n').filter((line) => line.includes(SOURCE));
  Error.stackTraceLimit = stackTraceLimit;
  if (frames.length > deepest.length) deepest = frames.map((line) => line.trim().replace(SOURCE, ''));
}

// Duplex has its own copy of the method, which sockets and pipes inherit.
for (const { prototype } of [Writable, Duplex]) {
  const { write } = prototype;
  prototype.write = function (...args) {
    recordStack();
    return write.apply(this, args);
  };
}

const commands = {
  async begin() {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    deepest = [];
  },
  async end() {
    await delay(DEFERRED);
    const frames = deepest;
    const { result } = await session.post('Profiler.takePreciseCoverage');
    await session.post('Profiler.stopPreciseCoverage');
    const files = result
      .filter(({ url }) => url.startsWith(SOURCE))
      .filter(({ functions }) => functions.some(({ ranges }) => ranges[0].count > 0))
      .map(({ url }) => url.slice(SOURCE.length));
    return { files: files.sort(), frames };
  },
};

process.on('message', async (command) => process.send({ command, ...(await commands[command]()) }));
process.channel.unref();
