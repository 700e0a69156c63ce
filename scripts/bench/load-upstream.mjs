/**
 * The server behind everything that `bench-load.mjs` measures: MCP over stdio in a blocking loop, without an event loop and
 * without parsing, so that it costs next to nothing and what is measured is the program in front of it. The one tool answers
 * with as many bytes of text as its `size` says.
 */
import { readSync, writeSync } from 'node:fs';
import { answer } from './load-answers.mjs';

/** Calls a function on a file until it does not have to wait. */
function insist(work) {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (error.code === 'EOF') return 0;
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

const block = Buffer.allocUnsafe(1 << 20);
let rest = '';
for (;;) {
  const read = insist(() => readSync(0, block));
  if (read === 0) break;
  const lines = (rest + block.latin1Slice(0, read)).split('\n');
  rest = lines.pop();
  // One write per answer, as a server that works on calls one by one.
  for (const line of lines) {
    const bytes = Buffer.from(answer(line), 'latin1');
    for (let at = 0; at < bytes.length; ) at += insist(() => writeSync(1, bytes, at));
  }
}
