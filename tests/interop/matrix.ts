/** Every client, over stdio and HTTP, through mcpx on one server, over stdio and HTTP: every feature is a test. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Asked, Conversation } from './conversation.ts';
import { DOWNSTREAMS } from './downstreams.ts';
import { type Cell, FEATURES } from './features.ts';
import { type Gateway, startGateway, TRANSPARENT } from './gateway.ts';
import type { Served, Transport, Upstream } from './upstreams.ts';

const TRANSPORTS: Transport[] = ['stdio', 'http'];

export function matrix(upstream: Upstream): void {
  describe.each(TRANSPORTS)(`in front of ${upstream.name} over %s`, (upstreamTransport) => {
    let served: Served;
    let gateway: Gateway;
    beforeAll(async () => {
      served = await upstream.serve[upstreamTransport]();
      gateway = await startGateway({ ...TRANSPARENT, mcpServers: { only: served.entry } });
    });
    afterAll(async () => {
      await gateway?.stop();
      served?.stop();
    });
    for (const downstream of DOWNSTREAMS) {
      for (const transport of TRANSPORTS) {
        describe(`${downstream.name} over ${transport}`, () =>
          cells({ downstream, transport, upstream }, () => gateway));
      }
    }
  });
}

function cells(cell: Cell, gateway: () => Gateway): void {
  const { downstream, transport, upstream } = cell;
  const opened = new Map<string, Promise<Conversation>>();
  const conversation = (can: Asked[]) => {
    const key = can.join();
    const known = opened.get(key) ?? downstream.open(transport, gateway(), can);
    opened.set(key, known);
    return known;
  };
  afterAll(async () => {
    const all = await Promise.allSettled(opened.values());
    await Promise.all(all.map((one) => one.status === 'fulfilled' && one.value.close()));
  });
  for (const { name, can, check, impossible } of FEATURES) {
    const why = impossible?.why(cell);
    if (why !== undefined && impossible !== undefined) {
      test(`${name}: ${why}`, async () => impossible.check(await conversation(can), upstream.words));
    } else test(name, async () => check(await conversation(can), upstream.words, downstream.era));
  }
}
