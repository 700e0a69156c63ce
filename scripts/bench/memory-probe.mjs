/**
 * Preloaded into mcpx by `bench-memory.mjs`, with `--expose-gc` and an IPC channel: on every message it collects garbage and
 * answers with what is still alive. It keeps nothing running and changes nothing else.
 */
import { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { queryObjects } from 'node:v8';

const idle = setTimeout(() => {}, 0);
clearTimeout(idle);
const Timeout = idle.constructor;

/** Objects of a class that are alive. */
const count = (type) => queryObjects(type, { format: 'count' });

/** Listeners on what lives as long as the process. */
const listeners = () =>
  [process, process.stdin, process.stdout, process.stderr]
    .flatMap((emitter) => emitter.eventNames().map((name) => emitter.listenerCount(name)))
    .reduce((sum, one) => sum + one, 0);

process.on('message', () => {
  for (let round = 0; round < 4; round++) globalThis.gc();
  process.send({
    heap: process.memoryUsage().heapUsed,
    handles: process.getActiveResourcesInfo().length,
    timers: count(Timeout),
    signals: count(AbortSignal),
    sockets: count(Socket),
    children: count(ChildProcess),
    promises: count(Promise),
    listeners: listeners(),
  });
});
process.channel.unref();
