/** Creates the parts that all MCP requests of the HTTP listener share: sessions, their ids, limits and held calls. */
import type { Settings } from '../../config/config.ts';
import type { Authenticator, Principal } from '../../policy/auth.ts';
import { createRate, NO_RATE } from '../../policy/rate-limit.ts';
import { createShares } from '../../policy/shares.ts';
import { createEndedSessions } from '../mcp/ended-sessions.ts';
import { createHeldCalls } from '../mcp/held-calls.ts';
import type { McpDeps } from '../mcp/mcp-request.ts';
import { createRequestStateCodec } from '../mcp/request-state.ts';
import { createSessionIds } from '../mcp/session-id.ts';
import { createSessions } from '../mcp/sessions.ts';
import { createParking } from '../mcp/sse-stream.ts';
import type { HttpOptions } from './http.ts';

/** Bytes of request bodies held at once; at least `LEAST_BODIES` bodies of the maximum size. */
const MAX_BODIES = 256 * 1024 * 1024;
const LEAST_BODIES = 4;

/** Creates the parts that all MCP requests share. `limits` change with the settings. */
export function createMcpDeps(options: HttpOptions, limits: Settings['http'], auth: () => Authenticator): McpDeps {
  const { gateway, settings, log, secretKey } = options;
  const parking = createParking();
  const identity = identify(options, auth);
  const sessions: McpDeps['sessions'] = createSessions(limits, {
    swept: parking.sweep,
    ended: (one) => one.kind === 'streamable' && one.claims && identity.ended.add(one.claims),
  });
  return {
    gateway,
    ...limitsOf(settings),
    ...identity,
    bodies: createShares(Math.max(MAX_BODIES, LEAST_BODIES * settings.maxBody)),
    sessions,
    parking,
    heldCalls: createHeldCalls(),
    stateCodec: createRequestStateCodec(secretKey),
    log,
  };
}

/** Creates the parts that identify sessions, including those of other processes. */
function identify(
  { secretKey, endedFolder: folder, log }: HttpOptions,
  auth: () => Authenticator,
): Pick<McpDeps, 'ids' | 'ended' | 'resuming' | 'fingerprint'> {
  const fingerprint = (principal: Principal | undefined) => auth().fingerprint(principal);
  return {
    ids: createSessionIds(secretKey),
    ended: createEndedSessions({ folder, log }),
    resuming: new Map(),
    fingerprint,
  };
}

/** Returns the limits that change with the settings. */
export function limitsOf({ maxBody, rate }: Settings['http']): Pick<McpDeps, 'maxBody' | 'rate'> {
  return { maxBody, rate: rate === null ? NO_RATE : createRate({ rate }) };
}
