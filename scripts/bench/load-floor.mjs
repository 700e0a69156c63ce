/**
 * The floor of `bench-load.mjs`: the least that a program in front of a stdio server does on Node, without a library, checks,
 * limits, errors or parsing. Ids and the name of the tool are replaced in the bytes, and everything else is handed on.
 *   <port>               listen on it with node:http; without, on stdin and stdout
 *   -- <command> [args]  the server, or its URL
 */
import { spawn } from 'node:child_process';
import { Agent, createServer, request } from 'node:http';

const split = process.argv.indexOf('--');
const port = split > 2 ? Number(process.argv[2]) : undefined;
const [command, ...args] = process.argv.slice(split + 1);
const url = /^https?:/.test(command) ? command : undefined;
const upstream = url === undefined ? spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] }) : undefined;
const agent = new Agent({ keepAlive: true });

/** Where the id and the name are looked for: at the beginning, so that a large message is not searched. */
const HEAD = 512;
const ID = /"id":(\d+)/;
const NAME = /"name":"load__/;
/** Below this a message is made in one piece, above it is not copied. */
const SMALL = 16 * 1024;
const END = Buffer.from('\n');

/** Calls `take` with every line of a stream, as one buffer. */
function readLines(stream, take) {
  let parts = [];
  stream.on('data', (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, at);
      from = at + 1;
      const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      parts = [];
      take(line);
    }
    if (from < chunk.length) parts.push(from === 0 ? chunk : chunk.subarray(from));
  });
}

/** The pieces of a message with another id, and without the prefix of a tool's name. */
function readdress(line, id, found) {
  const from = found.index + 5;
  const to = from + found[1].length;
  const pieces = [line.subarray(0, from), Buffer.from(id, 'latin1')];
  const name = NAME.exec(headOf(line));
  if (name === null) pieces.push(line.subarray(to));
  else pieces.push(line.subarray(to, name.index + 8), line.subarray(name.index + name[0].length));
  return pieces;
}

const headOf = (line) => line.latin1Slice(0, Math.min(HEAD, line.length));

const sizeOf = (pieces) => pieces.reduce((sum, piece) => sum + piece.length, 0);

const waiting = new Map();
let lastId = 0;

if (upstream !== undefined) readLines(upstream.stdout, answered);

function answered(line) {
  const found = ID.exec(headOf(line));
  const done = found && waiting.get(found[1]);
  if (!done) return;
  waiting.delete(found[1]);
  done.reply(readdress(line, done.id, found));
}

/** Hands a request on; whatever has no id is a notification, which goes nowhere. */
function forward(line, reply) {
  const found = ID.exec(headOf(line));
  if (found === null) return false;
  const id = String(++lastId);
  waiting.set(id, { id: found[1], reply });
  const pieces = readdress(line, id, found);
  if (url === undefined) send(upstream.stdin, pieces);
  else post(Buffer.concat(pieces));
  return true;
}

function post(body) {
  const headers = {
    Accept: 'application/json, text/event-stream',
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  };
  const sent = request(url, { method: 'POST', agent, headers }, (response) => {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('end', () => answered(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
  });
  sent.end(body);
}

function send(stream, pieces) {
  pieces.push(END);
  const size = sizeOf(pieces);
  if (size < SMALL) {
    stream.write(Buffer.concat(pieces, size));
    return;
  }
  stream.cork();
  for (const piece of pieces) stream.write(piece);
  stream.uncork();
}

function serveStdio() {
  readLines(process.stdin, (line) => forward(line, (message) => send(process.stdout, message)));
  process.stdin.on('end', () => process.exit(0));
}

function serveHttp() {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      const known = forward(body, (pieces) => {
        const size = sizeOf(pieces);
        response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': size });
        if (size < SMALL) response.end(Buffer.concat(pieces, size));
        else {
          for (const piece of pieces) response.write(piece);
          response.end();
        }
      });
      if (!known) response.writeHead(202, { 'Content-Length': 0 }).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(port, '127.0.0.1');
}

if (port === undefined) serveStdio();
else serveHttp();
