/** Staged connections by `server` or `server of owner`, which write down what they are asked; one named `rude` refuses. */
import type { Connection } from '../../src/upstream/connection-interface.ts';
import type { ClientIdentity } from '../../src/upstream/pool.ts';

export interface StagedConnections {
  /** Every request: the connection, the method, the params. */
  told: unknown[];
  /** The connections that were told to connect. */
  connected: string[];
  connections: Connection[];
  pool: { all(): Connection[]; get(server: string, caller?: ClientIdentity): Connection | undefined };
  /** Begins another conversation on the connection. */
  begin(connection: Connection | undefined): void;
}

export function stageConnections(
  states: Record<string, 'ready' | 'idle'>,
  capabilities: Record<string, unknown> = { logging: {} },
): StagedConnections {
  const told: unknown[] = [];
  const connected: string[] = [];
  let conversations = 0;
  const handshake = () => ({ capabilities, era: 'legacy', conversation: `conversation ${conversations++}` });
  const connections = Object.entries(states).map(([name, kind]) => ({
    name: name.split(' of ')[0],
    owner: name.split(' of ')[1],
    state: { kind },
    handshake: handshake(),
    connect: async () => void connected.push(name),
    request: async (method: string, params: unknown) => {
      told.push([name, method, params]);
      if (name === 'rude') throw new Error('no');
    },
  })) as unknown as Connection[];
  const get = (server: string, caller?: ClientIdentity) =>
    connections.find(({ name, owner }) => name === server && owner === caller?.key) ??
    connections.find(({ name, owner }) => name === server && owner === undefined);
  const begin = (connection: Connection | undefined) =>
    void Object.assign(connection ?? {}, { state: { kind: 'ready' }, handshake: handshake() });
  return { told, connected, connections, pool: { all: () => connections, get }, begin };
}
