/** One line on a terminal that shows that a command waits. Other output erases it first; the next frame draws it again. */
import { cutToWidth } from '../render/columns.ts';

/** The part of a terminal stream that is used. */
export interface SpinnerStream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

export interface Spinner {
  /** Shows the text after each frame until `stop`; a later text replaces it. */
  start(text: string): void;
  /** Takes the line away until the next frame. Does nothing if none is shown. */
  erase(): void;
  stop(): void;
  readonly isRunning: boolean;
}

const FRAMES =
  process.platform === 'win32' ? ['-', '\\', '|', '/'] : ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/** Milliseconds per frame. */
const PACE = 80;
/** Moves to the begin of the line and erases it. */
const ERASE = '\r\u001B[K';

export function createSpinner(stream: SpinnerStream): Spinner {
  let timer: NodeJS.Timeout | undefined;
  let text = '';
  let frame = 0;
  let isDrawn = false;
  const draw = () => {
    const line = `${FRAMES[frame++ % FRAMES.length]} ${text}`;
    stream.write(`${ERASE}${cutToWidth(line, (stream.columns || 80) - 1)}`);
    isDrawn = true;
  };
  const erase = () => {
    if (isDrawn) stream.write(ERASE);
    isDrawn = false;
  };
  return {
    start(given) {
      text = given;
      if (timer !== undefined) return;
      frame = 0;
      draw();
      timer = setInterval(draw, PACE).unref();
    },
    erase,
    stop() {
      clearInterval(timer);
      timer = undefined;
      erase();
    },
    get isRunning() {
      return timer !== undefined;
    },
  };
}
