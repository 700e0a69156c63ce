/**
 * Preloaded into mcpx by `bench:lookup`, with an IPC channel: measures how much processor time the main thread uses between
 * two turns of a timer, which is how long everything else waits on an idle machine. `reset` begins anew, `look` answers.
 */
import { setInterval } from 'node:timers';

/** Processor time of this thread in µs. */
function used() {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

let last = used();
let longest = 0;
let begun = last;
setInterval(() => {
  const now = used();
  longest = Math.max(longest, now - last);
  last = now;
}, 1).unref();

process.on('message', (wish) => {
  const now = used();
  longest = Math.max(longest, now - last);
  last = now;
  if (wish === 'reset') {
    longest = 0;
    begun = now;
  } else
    process.send({ longest: longest / 1000, total: (now - begun) / 1000, resident: process.memoryUsage.rss() / 1e6 });
});
process.channel.unref();
