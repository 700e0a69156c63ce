/** The answers of the servers of `bench:load` and `bench:peers`, made without parsing. */

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
export function answer(line) {
  const id = /"id":(\d+|"[^"]*")/.exec(line)?.[1];
  if (id === undefined) return '';
  const method = /"method":"([^"]+)"/.exec(line)?.[1] ?? '';
  const result = Object.hasOwn(RESULTS, method) ? `"result":${RESULTS[method](line)}` : UNKNOWN;
  return `{"jsonrpc":"2.0","id":${id},${result}}\n`;
}

const UNKNOWN = '"error":{"code":-32601,"message":"Method not found"}';
