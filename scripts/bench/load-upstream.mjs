/**
 * The server behind everything that `bench-load.mjs` measures: MCP over stdio in a blocking loop, without an event loop and
 * without parsing, so that it costs next to nothing and what is measured is the program in front of it. The one tool answers
 * with as many bytes of text as its `size` says.
 */
import { readSync, writeSync } from 'node:fs';

/** Text as tools write it: quotes and newlines that JSON escapes. */
const PATTERN = String.raw`The quick brown fox jumps over 13 \"lazy\" dogs; row 0123456789 ok\n`;
const TOOLS = JSON.stringify([
  {
    name: 'lines',
    description: 'Answers with as many characters as asked for',
    inputSchema: { type: 'object', properties: { size: { type: 'integer' } } },
  },
]);

const texts = new Map();
/** So many bytes of JSON text. */
function text(size) {
  const known = texts.get(size);
  if (known !== undefined) return known;
  const made = PATTERN.repeat(Math.floor(size / PATTERN.length)).padEnd(size, 'x');
  texts.set(size, made);
  return made;
}

const RESULTS = {
  'tools/call': (line) => {
    const size = Number(/"size":(\d+)/.exec(line)?.[1] ?? 100);
    return `{"content":[{"type":"text","text":"${text(size)}"}]}`;
  },
  'tools/list': () => `{"tools":${TOOLS}}`,
  initialize: (line) => {
    const version = /"protocolVersion":"([^"]+)"/.exec(line)?.[1];
    return `{"protocolVersion":"${version}","capabilities":{"tools":{}},"serverInfo":{"name":"load","version":"1"}}`;
  },
  ping: () => '{}',
};

/** The answer to one line, or nothing for a notification. */
function answer(line) {
  const id = /"id":(\d+|"[^"]*")/.exec(line)?.[1];
  if (id === undefined) return '';
  const method = /"method":"([^"]+)"/.exec(line)?.[1] ?? '';
  const result = Object.hasOwn(RESULTS, method) ? `"result":${RESULTS[method](line)}` : UNKNOWN;
  return `{"jsonrpc":"2.0","id":${id},${result}}\n`;
}

const UNKNOWN = '"error":{"code":-32601,"message":"Method not found"}';

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
