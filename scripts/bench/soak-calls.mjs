/** The calls of `bench-soak.mjs`: which are made, whether their answers are right, and which errors an injected fault excuses. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** Errors by the fault that excuses them. They must name the server. */
export const EXCUSED = {
  crash: /" (exited with code 1|closed its pipes|ended the connection)/,
  hang: /" did not answer "/,
  restart: /" (broke off|cannot be reached|ended its reply without an answer)/,
  removed: /no server is called "|Unknown tool: /,
};
/** ms that the past of faults is kept. */
const KEPT = 5 * 60_000;
/** Failures that are printed; the rest is counted. */
const PRINTED = 50;

/** The faults that are injected, and the failures that none of them excuses. Times are ms of one clock. */
export function createJournal(now = () => Math.round(performance.now())) {
  let faults = [];
  const failures = [];
  const counts = { calls: 0, excused: 0, failed: 0, faults: {} };
  const fail = (client, server, message) => {
    counts.failed += 1;
    if (failures.length < PRINTED) failures.push({ at: now(), client, server, message: `${message}`.slice(0, 400) });
  };
  return {
    counts,
    failures,
    now,
    fail,
    /** A fault of a server of one mcpx begins; returns what ends it, which is when the server has answered again. */
    begin(kind, place, server) {
      const fault = { kind, place, server, from: now(), to: Number.POSITIVE_INFINITY };
      faults = [...faults.filter(({ to }) => to > now() - KEPT), fault];
      counts.faults[kind] = (counts.faults[kind] ?? 0) + 1;
      return () => {
        fault.to = now();
      };
    },
    /** One call that is over. `problem` is what was wrong with it, `answered` whether that came as an answer. */
    record({ client, place, server, from, problem, answered }) {
      counts.calls += 1;
      if (problem === undefined) return;
      const excuses = faults.filter((one) => one.place === place && one.server === server && one.to >= from);
      const isExcused = answered && problem.includes(server) && excuses.some(({ kind }) => EXCUSED[kind].test(problem));
      if (isExcused) counts.excused += 1;
      else fail(client, server, `${problem} (after ${now() - from} ms)`);
    },
  };
}

/** The text of an answer, or what is wrong with it. */
export function readAnswer({ result, error }) {
  if (error !== undefined) return { problem: `error ${error.code}: ${error.message}` };
  const text = (result.content ?? []).map((part) => part.text ?? '').join('\n');
  return result.isError === true ? { problem: text } : { text };
}

/** Arguments of each operation, and what is wrong with the text of its answer. */
const OPERATIONS = {
  echo: () => withWords({}),
  wait: () => withWords({ ms: 20 + Math.floor(Math.random() * 300) }),
  talk: () => withWords({}),
  // The compact front keeps what is longer than a model should read, and sends its beginning.
  large: () => ({
    args: { bytes: 100_000 },
    wrong: (text) => (text.includes('xxxxxxxx') ? undefined : 'another text'),
  }),
  roots: ({ roots }) => ({
    args: {},
    wrong: (text) => (text.includes(JSON.stringify(roots)) ? undefined : `the roots of somebody else: ${text}`),
  }),
};

function withWords(more) {
  const words = randomBytes(9).toString('hex');
  return {
    args: { text: words, ...more },
    wrong: (text) => (text.includes(words) ? undefined : `another answer than "${words}": ${text.slice(0, 100)}`),
  };
}

/** How a front calls a tool of a server. */
const CALLS = {
  compact: (server, tool, args) => ({
    name: 'exec',
    arguments: { server_name: server, tool_name: tool, arguments: args },
  }),
  aggregate: (server, tool, args) => ({ name: `${server}__${tool}`, arguments: args }),
};

/** One actor: a client with its front, its place (which mcpx and profile) and the servers that it calls. */
export function createActor({ name, place, front, servers, roots, client, journal }) {
  let token = 0;
  const call = (server, tool, args) => {
    const meta = tool === 'talk' ? { _meta: { progressToken: `${name}-${++token}` } } : {};
    return client.request('tools/call', { ...CALLS[front](server, tool, args), ...meta });
  };
  /** Calls and checks; nothing is thrown. */
  const work = async (server, operation) => {
    const from = journal.now();
    const { args, wrong } = OPERATIONS[operation]({ roots });
    const over = (problem, answered) => journal.record({ client: name, place, server, from, problem, answered });
    try {
      const { text, problem } = readAnswer(await call(server, operation, args));
      if (problem !== undefined) over(problem, true);
      else over(wrong(text), false);
    } catch (error) {
      over(error.message, false);
    }
  };
  const list = async () => {
    const from = journal.now();
    const { error } = await client.request('tools/list').catch((error) => ({ error }));
    journal.record({ client: name, place, server: 'tools/list', from, problem: error?.message });
  };
  const pick = () => {
    const server = servers[Math.floor(Math.random() * servers.length)];
    const dice = Math.random();
    if (server.startsWith('rooted') && roots !== undefined && dice < 0.5) return [server, 'roots'];
    const operation = dice < 0.7 ? 'echo' : dice < 0.82 ? 'wait' : dice < 0.94 ? 'talk' : 'large';
    return [server, operation];
  };
  return {
    ...{ name, place, front, servers, client, call, work },
    /** Every server once, so that everything that this client needs is running. */
    async greet() {
      for (const server of servers) await work(server, 'echo');
    },
    /** Works until told to stop; `pause` in ms between calls at most. */
    async run(stop, pause) {
      while (!stop.aborted) {
        if (Math.random() < 0.03) await list();
        else await work(...pick());
        await delay(Math.random() * pause);
      }
    },
  };
}
