/** Server instructions: complete for a single server, and joined within a budget for all servers. */
import { clean, cut, oneLine } from '../render/text.ts';
import type { ServerView } from '../router/router.ts';

/** Maximum characters of the joined instructions; less than the strictest client passes on. */
const BUDGET = 2000;
/** Minimum characters per server for instructions to be useful. */
const LEAST = 40;
/** Maximum code points of the instructions of one server. */
const MAX_WHOLE = 10_000;

/** Returns the description in the config, or else the server's own instructions. */
export function aboutServer({ entry: { spec, handshake } }: Pick<ServerView, 'entry'>): string {
  return clean(spec.description ?? handshake?.instructions ?? '').trim();
}

/** Returns the complete instructions as lines if they do not fit on the server's line in `short` code points. */
export function wholeInstructions(server: ServerView, short: number, room: number): string[] {
  const about = aboutServer(server);
  if (cut(oneLine(about), short) === oneLine(about)) return [];
  return [cut(about, Math.min(MAX_WHOLE, room)), ''];
}

/** Returns the instructions of all servers, each after its server's name; undefined if no server has any. */
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

/** Divides `room`: each part gets what it needs, or an equal share of what the smaller parts leave. */
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
