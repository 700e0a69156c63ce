/** The faults and reloads of `bench-soak.mjs`. A fault lasts until its server has answered every client again; the errors of that time are excused. */
import { setTimeout as delay } from 'node:timers/promises';
import { readAnswer } from './soak-calls.mjs';
import { HANG, TOKENS, UPSTREAMS } from './soak-processes.mjs';

/** ms for a server to be back, and for a reload to be applied. */
const RECOVERY = 90_000;
/** ms between two faults of one server: a server that was up for less than 10 s waits longer before it starts again. */
const BETWEEN = 12_000;
const BETWEEN_RELOADS = 4000;

/** Waits, at most until the stop. */
export async function sleep(ms, stop) {
  await delay(ms, undefined, { signal: stop }).catch(() => undefined);
}

/** Calls until the answer is right, and says so where it never is. */
async function until(actor, journal, { server, tool = 'echo', right, what }) {
  let last = '';
  for (const end = journal.now() + RECOVERY; journal.now() < end; await delay(200)) {
    try {
      const { text, problem } = readAnswer(await actor.call(server, tool, { text: 'there' }));
      if (text !== undefined && right(text)) return;
      last = problem ?? text;
    } catch (error) {
      journal.fail(actor.name, server, `${what}: ${error.message}`);
    }
  }
  journal.fail(actor.name, server, `${what}: not within ${RECOVERY / 1000} s, last: ${last}`);
}

const back = (server, kind) => ({ server, right: (text) => text.includes('there'), what: `back after "${kind}"` });

/** One fault, from its beginning to the moment when all clients are answered again. */
async function disturb({ journal, actors }, { kind, place, server }, act) {
  const over = journal.begin(kind, place, server);
  await act();
  const concerned = actors.filter((actor) => actor.place === place && actor.servers.includes(server));
  await Promise.all(concerned.map((actor) => until(actor, journal, back(server, kind))));
  over();
}

/** Again and again, with pauses of about the same length. */
async function repeat(stop, pause, act) {
  await sleep(Math.random() * pause, stop);
  while (!stop.aborted) {
    await act();
    await sleep(pause * (0.75 + Math.random() / 2), stop);
  }
}

/** A fault that a call of one of the clients brings about: the call itself must not succeed. */
function byCall(world, stop, { kind, args = {} }) {
  const { actors, journal } = world;
  const places = [...new Set(actors.map(({ place }) => place))];
  const targets = places.flatMap((place) => UPSTREAMS[kind].map((server) => ({ kind, place, server })));
  return targets.map((target) => {
    const able = actors.filter(({ place, servers }) => place === target.place && servers.includes(target.server));
    if (able.length === 0) return undefined;
    return repeat(stop, BETWEEN, () =>
      disturb(world, target, async () => {
        const actor = able[Math.floor(Math.random() * able.length)];
        const { error, result } = await actor.call(target.server, kind, args).catch((error) => ({ error }));
        if (error === undefined && result?.isError !== true)
          journal.fail(actor.name, target.server, `"${kind}" was answered as if nothing had happened`);
      }),
    );
  });
}

function restarts(world, stop) {
  return UPSTREAMS.restart.map((server) =>
    repeat(stop, BETWEEN, () =>
      disturb(world, { kind: 'restart', place: 'http', server }, async () => {
        const upstream = world.http.get(server);
        await upstream.kill();
        await sleep(500, stop);
        await upstream.start();
      }),
    ),
  );
}

/** Edits of the gateway's config, in turns. Only the removal of a server may fail a call. */
const RELOADS = {
  async describe({ config }, count) {
    config.describe(`the description number ${count}`);
    config.write();
  },
  async change({ config, actors, journal }, count) {
    const server = UPSTREAMS.changed[0];
    config.revisions.set(server, count);
    config.write();
    const right = (text) => text.trim() === `${count}`;
    const concerned = actors.filter((actor) => actor.place === 'http' && actor.servers.includes(server));
    const applied = { server, tool: 'revision', right, what: `the reload to revision ${count}` };
    await Promise.all(concerned.map((actor) => until(actor, journal, applied)));
  },
  async ask({ port, journal }) {
    const headers = { authorization: `Bearer ${TOKENS.alice}` };
    const answer = await fetch(`http://127.0.0.1:${port}/api/reload`, { method: 'POST', headers });
    const text = await answer.text();
    if (answer.status !== 200) journal.fail('alice', '/api/reload', `HTTP ${answer.status}: ${text}`);
  },
  async mistake({ config }) {
    config.write('{ "mcpServers": { "steady-1": ');
    await delay(1500);
    config.write();
  },
  async remove(world) {
    const server = UPSTREAMS.changed[1];
    await disturb(world, { kind: 'removed', place: 'http', server }, async () => {
      world.config.removed.add(server);
      world.config.write();
      await delay(2000);
      world.config.removed.delete(server);
      world.config.write();
    });
  },
};

async function reloads(world, stop) {
  const kinds = Object.keys(RELOADS);
  await repeat(stop, BETWEEN_RELOADS, async () => {
    const count = ++world.reloads;
    const kind = kinds[count % kinds.length];
    await RELOADS[kind](world, count).catch((error) => world.journal.fail('reload', kind, error.message));
  });
}

/** All faults until the stop. Resolves when the last of them is over. */
export function injectFaults(world, stop) {
  return Promise.all([
    ...byCall(world, stop, { kind: 'crash' }),
    ...byCall(world, stop, { kind: 'hang', args: { ms: HANG } }),
    ...restarts(world, stop),
    reloads(world, stop),
  ]);
}
