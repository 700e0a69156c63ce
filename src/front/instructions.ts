/** Instructions of servers: whole where one server is looked up, and joined within a budget where a client is shown all of them. */
import { clean, cut, oneLine } from '../render/text.ts';
import type { ServerView } from '../router/router.ts';

/** Characters of the joined instructions: less than the narrowest client passes on. */
const BUDGET = 2000;
/** Characters below which the instructions of a server say nothing. */
const LEAST = 40;
/** Code points of the instructions of one server. */
const MAX_WHOLE = 10_000;

/** What is told of a server: the words of the config, else its own. */
export function aboutServer({ entry: { spec, hello } }: Pick<ServerView, 'entry'>): string {
  return clean(spec.description ?? hello?.instructions ?? '').trim();
}

/** The lines about a server that do not fit behind its name in `short` code points. */
export function wholeInstructions(server: ServerView, short: number, room: number): string[] {
  const about = aboutServer(server);
  if (cut(oneLine(about), short) === oneLine(about)) return [];
  return [cut(about, Math.min(MAX_WHOLE, room)), ''];
}

/** The instructions of all servers, each after the name of its server; undefined where no server has any. */
export function joinInstructions(servers: ServerView[], budget = BUDGET): string | undefined {
  const all = servers
    .map((server) => ({ name: server.name, about: aboutServer(server) }))
    .filter(({ about }) => about !== '')
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const told = all.slice(0, Math.floor(budget / LEAST));
  const shares = shareOut(
    told.map(({ about }) => about.length),
    budget - told.reduce((used, { name }) => used + name.length + 4, 0),
  );
  const parts = told.map(({ name, about }, index) => `${name}: ${cut(about, shares[index] ?? 0)}`);
  return parts.length === 0 ? undefined : cut(parts.join('\n\n'), budget);
}

/** How much each one gets of `room`: as much as it needs, or an equal share of what others leave. */
function shareOut(needs: number[], room: number): number[] {
  const shares = needs.map(() => 0);
  const order = [...needs.keys()].sort((a, b) => (needs[a] ?? 0) - (needs[b] ?? 0));
  let left = Math.max(0, room);
  for (const [place, index] of order.entries()) {
    const share = Math.min(needs[index] ?? 0, Math.floor(left / (order.length - place)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
