/** Numbers that JavaScript cannot hold, through the executable: they come out as they went in. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { decimalOf, numberText } from '../decimal.ts';
import { emptyPlace, fixture, type Place, run, start } from './program.ts';

const LONG = [
  ...['1234567890123456789', '-9223372036854775808', '9007199254740993', '12345678901234567890'],
  ...['1e400', '-4E-400', '0.12345678901234567891', '123456789012345678901234567890'],
];
const ALL = `{"n":[${LONG.join(',')}],"plain":[5,1.5,"9007199254740993"]}`;
const raw = { command: process.execPath, args: [fixture('raw.mjs')] };
const INITIALIZE = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`;

/** A conversation in texts: the answer to a request is the line that it came in. */
async function talk(front: string, mcpServers: Record<string, unknown> = { raw }, place = emptyPlace()) {
  const running = start(['serve', place.file('mcp.json', { mcpServers }), '--front', front], place);
  onTestFinished(async () => {
    running.child.stdin?.end();
    await running.finished;
  });
  const say = (text: string) => void running.child.stdin?.write(`${text}\n`);
  const ask = async (id: string, method: string, params: string) => {
    say(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`);
    const [line] = (await running.wrote('stdout', new RegExp(`^.*"id":${id}[,}].*$`, 'm'))) as RegExpExecArray;
    return line;
  };
  let last = 0;
  const call = (name: string, args: string) => ask(`${++last}`, 'tools/call', `{"name":"${name}","arguments":${args}}`);
  const exec = (args: string) => call('exec', args);
  await ask('0', 'initialize', INITIALIZE);
  say('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return { ...running, say, ask, call, exec };
}

/** The texts of a result. */
const textsOf = (line: string) => JSON.parse(line).result.content.map(({ text }: { text: string }) => text);
const said = (result: string) => `{"json":${JSON.stringify(result)}}`;

/** The port of the server of texts over HTTP. */
async function startRaw(place: Place, ...args: string[]): Promise<number> {
  const server = start(['port=0', ...args], place, [process.execPath, fixture('raw.mjs')]);
  const [port] = (await server.wrote('stdout', /^\d+$/m)) as RegExpExecArray;
  return Number(port);
}

test('the aggregate front passes every number on as it is, over stdio and over HTTP', async () => {
  const place = emptyPlace();
  const far = { url: `http://127.0.0.1:${await startRaw(place)}/mcp` };
  const { call } = await talk('aggregate', { raw, far }, place);
  for (const server of ['raw', 'far']) {
    const line = await call(`${server}__echo`, ALL);
    expect(line).toContain(`"structuredContent":${ALL}`);
    expect(textsOf(line)).toEqual([ALL]);
    const result = `{"content":[{"type":"text","text":"x","_meta":{"n":1e400}}],"structuredContent":${ALL},"_meta":{"n":-9007199254740993}}`;
    expect(await call(`${server}__say`, said(result))).toContain(`"result":${result}`);
  }
});

test('an answer to nobody, under an id that JavaScript cannot hold, hurts nobody', async () => {
  const place = emptyPlace();
  const far = { url: `http://127.0.0.1:${await startRaw(place, 'strange')}/mcp` };
  const { call } = await talk('aggregate', { far }, place);
  for (const round of [1, 2]) expect(await call('far__echo', `{"round":${round}}`)).toContain(`{"round":${round}}`);
});

test('ids and progress tokens that JavaScript cannot hold are answered as they are, and can be cancelled', async () => {
  const { ask, say, wrote } = await talk('aggregate');
  const [id, token] = ['12345678901234567891', '9007199254740995'];
  expect(await ask(id, 'ping', '{}')).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  const hang = `{"name":"raw__hang","arguments":{},"_meta":{"progressToken":${token}}}`;
  const pending = '12345678901234567892';
  say(`{"jsonrpc":"2.0","id":${pending},"method":"tools/call","params":${hang}}`);
  await wrote('stdout', `"progressToken":${token}`);
  say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${pending}}}`);
  // Its id is free again.
  expect(await ask(pending, 'ping', '{}')).toContain('"result":{}');
});

test('the compact front checks and mends arguments, and sends their numbers as they are', async () => {
  const { exec } = await talk('compact');
  const run = (args: string) => exec(`{"server_name":"raw","tool_name":"echo","arguments":${args}}`);
  const [id = ''] = LONG;
  expect(await run(`{"id":${id}}`)).toContain(`"structuredContent":{"id":${id}}`);
  // A lone value where a list is wanted, beside a text where a number is.
  expect(await run(`{"ids":${id},"ratio":"0.5"}`)).toContain(`"structuredContent":{"ids":[${id}],"ratio":0.5}`);
  expect(await run(JSON.stringify(`{"id":${id}}`))).toContain(`"structuredContent":{"id":${id}}`);
  expect(textsOf(await run(`{"id":[${id}]}`))[0]).toMatch(
    new RegExp(`id: must be integer, got array.*example: .*"id":${id}`, 's'),
  );
  expect(textsOf(await run(id))[0]).toContain('must be an object, got number');
  // JavaScript takes these two for one.
  const pair = '[9007199254740992,9007199254740993]';
  expect(await run(`{"ids":${pair}}`)).toContain(`"structuredContent":{"ids":${pair}}`);
});

test('numbers of a result are shown as they are, in JSON, in TOON and where they are selected', async () => {
  const { exec } = await talk('compact');
  const show = (structured: string, more = '') =>
    exec(
      `{"server_name":"raw","tool_name":"say","arguments":${said(`{"content":[],"structuredContent":${structured}}`)}${more}}`,
    );
  const rows = LONG.slice(0, 4).map((id, index) => `{"id":${id},"name":"row ${index}","kind":"item"}`);
  const small = await show(ALL);
  expect(small).toContain(`"structuredContent":${ALL}`);
  expect(textsOf(small).join('')).toContain(LONG[2]);
  const toon = textsOf(await show(`{"rows":[${rows.concat(rows)}]}`)).join('\n');
  expect(toon).toContain('rows[8]{id,name,kind}:');
  for (const [index, id] of LONG.slice(0, 4).entries()) expect(toon).toContain(`  ${id},row ${index},item`);
  const text = JSON.stringify('{ "a": 1e400, "b": 1234567890.1234567890 }');
  const shorter = await exec(
    `{"server_name":"raw","tool_name":"say","arguments":${said(`{"content":[{"type":"text","text":${text}}]}`)}}`,
  );
  expect(textsOf(shorter)).toEqual(['{"a":1e400,"b":1234567890.1234567890}\n']);
  const part = await show(`{"rows":[${rows}]}`, ',"select":"rows[?name==\'row 0\'].id"');
  expect(textsOf(part)).toEqual([`result: [${LONG[0]}]\n`]);
  const times = '{"spans":[{"from":1731897600000000001,"to":1731897600000009001},{"from":5,"to":1731897600000005001}]}';
  const select = async (expression: string) => textsOf(await show(times, `,"select":${JSON.stringify(expression)}`));
  expect(await select('spans[?to > from].to')).toEqual(['result: [1731897600000009001,1731897600000005001]\n']);
  expect(await select('sort_by(spans, &to)[0].to')).toEqual(['result: 1731897600000005001\n']);
  // Two that JavaScript takes for one are told apart as text.
  const near = await show('{"ids":[9007199254740993,9007199254740992,7]}', ',"select":"ids"');
  expect(textsOf(near)).toEqual(['result: ["9007199254740993","9007199254740992",7]\n']);
  expect(textsOf(await show('{"a":0.12345678901234567891}', ',"select":"a > `0.1`"'))).toEqual(['result: true\n']);
  const nothing = textsOf(await show(`{"rows":[${rows}]}`, ',"select":"none"')).join('\n');
  expect(nothing).toContain('rows: { id: number; name: string; kind: string }[]');
});

test('a large result is kept with its numbers', async () => {
  const { exec, call } = await talk('compact');
  const structured = `{"ids":[${Array(6000).fill(LONG[0])}]}`;
  const result = said(`{"content":[],"structuredContent":${structured}}`);
  const [head, about] = textsOf(await exec(`{"server_name":"raw","tool_name":"say","arguments":${result}}`));
  expect(head).toContain(`${LONG[0]},${LONG[0]}`);
  expect(about).toContain('type: { ids: number[] }');
  expect(about).toContain('"select":"ids[0:5]"');
  const kept = /kept for .* as \\?"(\w+)/.exec(about)?.[1];
  expect(textsOf(await call('inspect', `{"result":"${kept}","select":"ids[0:2]"}`))).toEqual([
    `result: ["${LONG[0]}","${LONG[0]}"]\n`,
  ]);
});

test('calls of a batch pass numbers on to each other', async () => {
  const { exec } = await talk('compact');
  const echo = (args: string) => `{"server_name":"raw","tool_name":"echo","arguments":${args}}`;
  const [id] = LONG;
  const referring = [
    `{"id":{"$from":"0.id"},"other":{"n":${id}}}`,
    '{"id":{"$from":"0.id.x"}}',
    `{"id":{"$from":${id}}}`,
  ];
  const line = await exec(`{"onError":"continue","calls":[${[`{"id":${id}}`, ...referring].map(echo)}]}`);
  expect(line).toContain(`"structuredContent":{"id":${id},"other":{"n":${id}}}`);
  const said = textsOf(line).join('\n');
  expect(said).toContain('there is nothing at "$from" "0.id.x"; "0.id" is a number');
  expect(said).toContain(`"${id}" is no reference`);
});

test.each([
  ['aggregate', `{"name":"raw__echo","arguments":${ALL}}`],
  ['compact', `{"name":"exec","arguments":{"server_name":"raw","tool_name":"echo","arguments":${ALL}}}`],
])('over HTTP, for scripts and in the audit log, numbers are what they were: %s', async (front, params) => {
  const place = emptyPlace();
  const file = place.file('mcp.json', { mcpServers: { raw }, audit: { file: './audit.jsonl', values: true } });
  const running = start(['serve', file, '--http', '--port', '0', '--front', front], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const post = async (path: string, body: string) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    return (await fetch(url + path, { method: 'POST', headers, body })).text();
  };
  const id = '12345678901234567891';
  const answered = await post('/mcp', `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`);
  expect(answered).toContain(`"id":${id}`);
  expect(answered).toContain(`"structuredContent":${ALL}`);
  expect(await post('/api/default/tools/raw/echo', ALL)).toContain(`"structuredContent":${ALL}`);
  running.child.kill('SIGTERM');
  await running.finished;
  const audit = readFileSync(join(place.cwd, 'audit.jsonl'), 'utf8');
  expect(audit.split(`"arguments":${ALL}`)).toHaveLength(3);
});

test('the command line sends and prints numbers as they are', async () => {
  const place = emptyPlace();
  const file = place.file('mcp.json', { mcpServers: { raw } });
  const exec = async (...args: string[]) => (await run(['exec', '-c', file, 'raw.echo', ...args], place)).stdout;
  expect(await exec('--json', `id:=${LONG[0]}`)).toContain(`"id": ${LONG[0]}`);
  // Long JSON is indented.
  expect((await exec('--args', ALL)).replaceAll(/\s/g, '')).toBe(ALL);
});

test('tools in JavaScript get the nearest number that there is', async () => {
  const place = emptyPlace();
  place.file('own.mjs', "export const tools = [{ name: 'kind', handler: ({ id }) => typeof id + ' ' + id }];");
  const servers = { math: { type: 'builtin' }, own: { module: './own.mjs' } };
  const { call } = await talk('aggregate', servers, place);
  const numbers = '{"numbers":[9007199254740993]}';
  expect(textsOf(await call('math__statistics', numbers))[0]).toContain('9007199254740992');
  expect(textsOf(await call('own__kind', '{"id":9007199254740993}'))).toEqual(['number 9007199254740992']);
});

test('any number goes through arguments and results without a change of its value', { timeout: 120_000 }, async () => {
  const { call } = await talk('aggregate');
  await fc.assert(
    fc.asyncProperty(fc.array(numberText, { minLength: 1, maxLength: 200 }), async (numbers) => {
      const line = await call('raw__echo', `{"n":[${numbers}]}`);
      const [arrived] = textsOf(line).map((text: string) => text.slice('{"n":['.length, -2).split(','));
      const [, returned = ''] = /"structuredContent":\{"n":\[(.*?)\]/.exec(line) ?? [];
      expect(arrived.map(decimalOf)).toEqual(numbers.map(decimalOf));
      expect(returned.split(',').map(decimalOf)).toEqual(numbers.map(decimalOf));
    }),
    { numRuns: 100 },
  );
});
