/** The audience of access tokens: the resource indicators that mean this gateway, or one of its endpoints. */
import type { GatewayOAuth } from '../../config/gateway-oauth.ts';
import { endpointOf } from '../http/protected-resource.ts';

export interface AudienceOptions extends Pick<GatewayOAuth, 'url' | 'audience'> {
  /** The port of the listener, for the loopback URLs that are used if no URL is configured. */
  port(): number;
  /** The profile at `/mcp`. */
  main: string | undefined;
}

/** Returns the profiles for which a token is, `all` if it is for the whole gateway, or undefined if it is for others. */
export type Audience = (claim: unknown) => 'all' | string[] | undefined;

export function createAudience({ url, audience, port, main }: AudienceOptions): Audience {
  const configured = new Set(audience.map(bare));
  const bases = () => (url === null ? LOOPBACK.map((host) => `http://${host}:${port()}`) : [url]);
  return (claim) => {
    const named = [claim]
      .flat()
      .filter((one) => typeof one === 'string')
      .map(bare);
    if (named.some((one) => configured.has(one))) return 'all';
    const known = bases();
    if (named.some((one) => known.includes(one))) return 'all';
    const endpoints = named.flatMap((one) => known.flatMap((base) => endpointBelow(base, one)));
    const profiles = endpoints.flatMap(({ profile = main }) => profile ?? []);
    return profiles.length === 0 ? undefined : [...new Set(profiles)];
  };
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** A slash at the end is no difference: clients and authorization servers add and remove it. */
function bare(text: string): string {
  return text.replace(/\/$/, '');
}

function endpointBelow(base: string, audience: string) {
  const endpoint = audience.startsWith(`${base}/`) ? endpointOf(audience.slice(base.length)) : undefined;
  return endpoint === undefined ? [] : [endpoint];
}
