/** The client of `bench-load.mjs`: JSON-RPC over a child's pipes or over keep-alive sockets, as cheap as it gets. Every answer is checked. */
import { connect } from 'node:net';
import { BuildError } from '../project.mjs';

/** Answers above this are checked by their size and not parsed, as this process is on the clock too. */
const PARSED = 64 * 1024;
const NEWLINE = 10;
/** The first character of an event stream that comes as one piece: `event:`. */
const EVENT = 'e'.charCodeAt(0);

/** The answer in some bytes: whether it is the one to `id`, no error, and at least `bytes` long. */
function check(body, id, bytes) {
  const large = body.length > PARSED;
  const message = large
    ? { id: Number(/"id":(\d+)/.exec(body.toString('latin1', 0, 256))?.[1]) }
    : JSON.parse(body.toString());
  const wrong = message.id !== id || message.error !== undefined || message.result?.isError === true;
  if (wrong || body.length < bytes) {
    throw new BuildError(`a wrong answer to request ${id}: ${body.toString('latin1', 0, 300)}`);
  }
  return large ? undefined : message.result;
}

/** The id of an answer: at its beginning, or at its end, where the official SDK writes it. */
function idOf(line) {
  const found =
    /"id":(\d+)/.exec(line.latin1Slice(0, Math.min(64, line.length))) ??
    /"id":(\d+)\}$/.exec(line.latin1Slice(Math.max(0, line.length - 64)));
  return Number(found?.[1]);
}

const request = (id, method, params) => `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;

/** Over the pipes of a child: one write per request. */
export function stdioClient(child) {
  const waiting = new Map();
  let lastId = 0;
  let parts = [];
  const take = (line) => {
    const id = idOf(line);
    const call = waiting.get(id);
    if (call === undefined) return;
    waiting.delete(id);
    try {
      call.resolve(check(line, id, call.bytes));
    } catch (error) {
      call.reject(error);
    }
  };
  child.stdout.on('data', (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const last = chunk.subarray(from, at);
      from = at + 1;
      const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      parts = [];
      take(line);
    }
    if (from < chunk.length) parts.push(from === 0 ? chunk : chunk.subarray(from));
  });
  const fail = (why) => {
    for (const { reject } of waiting.values()) reject(new BuildError(why));
    waiting.clear();
  };
  child.stdin.on('error', () => undefined);
  child.once('close', (code, signal) => fail(`a program under test ended with ${signal ?? code}`));
  return {
    request: (method, params, bytes = 0) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject, bytes });
        child.stdin.write(`${request(id, method, params)}\n`);
      }),
    notify: async (method) => void child.stdin.write(`{"jsonrpc":"2.0","method":"${method}"}\n`),
    close: () => fail('closed'),
  };
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** ms after which a socket is not used again. */
const IDLE = 3000;
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** One socket that carries one request at a time. */
function openSocket(port, free) {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let call;
  let received = [];
  let length = 0;
  let head;
  const finish = (body) => {
    const { resolve, reject, id, bytes } = call;
    const { status, session } = head;
    call = undefined;
    head = undefined;
    received = [];
    length = 0;
    free(self);
    try {
      if (status >= 300) throw new BuildError(`HTTP ${status}: ${body.toString('latin1', 0, 300)}`);
      const message = body[0] === EVENT ? eventIn(body) : body;
      resolve({ result: id === undefined ? undefined : check(message, id, bytes), session });
    } catch (error) {
      reject(error);
    }
  };
  socket.on('data', (chunk) => {
    received.push(chunk);
    length += chunk.length;
    if (head === undefined) {
      const all = received.length === 1 ? chunk : Buffer.concat(received);
      const end = all.indexOf(HEAD_END);
      if (end < 0) return;
      head = readHead(all.latin1Slice(0, end));
      received = [all.subarray(end + 4)];
      length = all.length - end - 4;
    }
    if (head.length !== undefined) {
      if (length >= head.length) finish(received.length === 1 ? received[0] : Buffer.concat(received));
    } else {
      const all = Buffer.concat(received);
      if (all.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)) finish(eventIn(all));
    }
  });
  const lost = (why) => call?.reject(new BuildError(`a connection was lost: ${why}`));
  socket.once('error', (error) => lost(error.message));
  socket.once('close', () => lost('closed by the far side'));
  const self = {
    /** When it was last used: servers close what is idle for a few seconds. */
    used: 0,
    send(text, waiting) {
      call = waiting;
      socket.write(text);
    },
    close: () => socket.destroy(),
  };
  return self;
}

function readHead(text) {
  const status = Number(text.slice(9, 12));
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  const session = /\r\nmcp-session-id: *(\S+)/i.exec(text)?.[1];
  return { status, session, length: length === undefined ? undefined : Number(length) };
}

/** An answer that took long comes as an event stream in chunks; the last event is the answer. */
function eventIn(body) {
  const text = body.toString('latin1');
  return Buffer.from(/data: (\{.*\})/.exec(text.slice(text.lastIndexOf('data: {')))?.[1] ?? '', 'latin1');
}

/** Streamable HTTP on one port, in one session where the far side has sessions. */
export function httpClient(port, path = '/mcp') {
  const all = new Set();
  const idle = [];
  let session = '';
  let lastId = 0;
  const post = (body, id, bytes) =>
    new Promise((resolve, reject) => {
      let socket = idle.pop();
      while (socket !== undefined && socket.used < Date.now() - IDLE) {
        socket.close();
        all.delete(socket);
        socket = idle.pop();
      }
      if (socket === undefined) {
        socket = openSocket(port, (one) => {
          one.used = Date.now();
          idle.push(one);
        });
        all.add(socket);
      }
      const head =
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: application/json, text/event-stream\r\n` +
        `Content-Type: application/json\r\n${session}Content-Length: ${body.length}\r\n\r\n`;
      socket.send(head + body, { resolve, reject, id, bytes });
    });
  return {
    async request(method, params, bytes = 0) {
      const id = ++lastId;
      const answer = await post(request(id, method, params), id, bytes);
      if (method === 'initialize' && answer.session !== undefined) {
        session = `Mcp-Session-Id: ${answer.session}\r\nMCP-Protocol-Version: ${answer.result.protocolVersion}\r\n`;
      }
      return answer.result;
    },
    notify: async (method) => void (await post(`{"jsonrpc":"2.0","method":"${method}"}`)),
    close() {
      for (const socket of all) socket.close();
    },
  };
}
