/** Sends progress notifications while a call is silent: many clients time out after a minute without progress. */
import type { ProgressNotification } from '@modelcontextprotocol/sdk/types.js';
import type { Params } from '../wire/message.ts';

/** Milliseconds without progress before a heartbeat is sent. */
const SILENCE = 15_000;
/** Progress must increase; this step is smaller than any step of a server. */
const STEP = 1e-6;
/** The relative step, for progress values so large that adding `STEP` would not change them. */
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
    send({ progress: last, message: 'still running' } satisfies Omit<ProgressNotification['params'], 'progressToken'>);
  };
  const timer = setInterval(beat, SILENCE);
  timer.unref();
  return {
    progress(params) {
      timer.refresh();
      const { progress } = params;
      if (typeof progress !== 'number') return send(params);
      // Progress must not decrease if the server starts at zero after a heartbeat.
      last = beats ? Math.max(progress, next()) : progress;
      send(last === progress ? params : { ...params, progress: last });
    },
    stop: () => clearInterval(timer),
  };
}
