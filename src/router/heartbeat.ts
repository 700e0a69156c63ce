/** Progress for a client that asked for it while a call is silent: many clients give up after a minute without any. */
import type { Params } from '../wire/message.ts';

/** ms of silence before a sign of life. */
const SILENCE = 15_000;
/** Small enough to stay below any step of the server's own, as progress must increase. */
const STEP = 1e-6;
/** The same for numbers that are so large that nothing as small could be added to them. */
const RELATIVE_STEP = 4 * Number.EPSILON;

export interface Heartbeat {
  progress: (params: Params) => void;
  stop(): void;
}

export function createHeartbeat(send: (params: Params) => void): Heartbeat {
  let last = 0;
  let beats = false;
  const next = () => last + Math.max(STEP, Math.abs(last) * RELATIVE_STEP);
  const beat = () => {
    last = next();
    beats = true;
    send({ progress: last, message: 'still running' });
  };
  const timer = setInterval(beat, SILENCE);
  timer.unref();
  return {
    progress(params) {
      timer.refresh();
      const { progress } = params;
      if (typeof progress !== 'number') return send(params);
      // A server that begins at nothing after signs of life must not seem to go back.
      last = beats ? Math.max(progress, next()) : progress;
      send(last === progress ? params : { ...params, progress: last });
    },
    stop: () => clearInterval(timer),
  };
}
