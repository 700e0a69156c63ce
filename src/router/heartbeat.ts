/** Progress for a client that asked for it while a call is silent: many clients give up after a minute without any. */
import type { Params } from '../wire/message.ts';

/** ms of silence before a sign of life. */
const SILENCE = 15_000;
/** Small enough to stay below any step of the server's own, as progress must increase. */
const STEP = 1e-6;

export interface Heartbeat {
  progress: (params: Params) => void;
  stop(): void;
}

export function createHeartbeat(send: (params: Params) => void): Heartbeat {
  let last = 0;
  const beat = () => {
    last += STEP;
    send({ progress: last, message: 'still running' });
  };
  const timer = setInterval(beat, SILENCE);
  timer.unref();
  return {
    progress(params) {
      timer.refresh();
      if (typeof params.progress === 'number') last = params.progress;
      send(params);
    },
    stop: () => clearInterval(timer),
  };
}
