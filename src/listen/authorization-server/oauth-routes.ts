/** The routes of the built-in authorization server. */
import type { Settings } from '../../config/config.ts';
import { proxiedAddress } from '../http/guard.ts';
import { gatewayUrl } from '../http/protected-resource.ts';
import type { Route, RouteRequest, Serve, Served } from '../http/route.ts';
import type { Endpoint, ServedProfiles } from './authorization-server.ts';

const isOn = ({ auth }: Settings['http']) => auth.oauth.mode === 'builtin';

const serve =
  (endpoint: Endpoint): Serve =>
  (exchange, served) => {
    const { request, response, query, trace } = exchange;
    const { trustProxy, auth } = served.settings;
    const address = proxiedAddress(request, trustProxy);
    const asked = { request, response, query, address, id: trace.request, base: gatewayUrl(auth.oauth, request) };
    return served.authorizationServer?.serve(endpoint, asked, profilesOf(exchange, served));
  };

function profilesOf({ trace }: RouteRequest, { gateway, log }: Served): ServedProfiles {
  return {
    mainProfile: gateway.mainProfile,
    profiles: () => gateway.status().profiles.map(({ name }) => name),
    decided({ id, client, token, profiles }) {
      const who = token === null ? 'the password' : `token "${token}"`;
      log.info(`grant ${id}: ${who} lets the OAuth client "${client}" use ${profiles.join(', ')}`);
      gateway.emit({
        type: 'admin',
        action: 'grant',
        target: id,
        token: token ?? undefined,
        ok: true,
        request: trace.request,
      });
    },
  };
}

const anonymous = { anonymous: true, offered: isOn } as const;
/** Every web page may use these: they need a code or a token, and no cookie counts. */
const forPages = { ...anonymous, anyOrigin: true } as const;

export const OAUTH_ROUTES: readonly Route[] = [
  { path: '/.well-known/oauth-authorization-server', methods: { GET: serve('metadata') }, ...forPages },
  // Some clients ask for the metadata of OpenID Connect only.
  { path: '/.well-known/openid-configuration', methods: { GET: serve('metadata') }, ...forPages },
  { path: '/authorize', methods: { GET: serve('authorize'), POST: serve('consent') }, ...anonymous },
  { path: '/token', methods: { POST: serve('token') }, ...forPages },
  { path: '/register', methods: { POST: serve('register') }, ...forPages },
  { path: '/revoke', methods: { POST: serve('revoke') }, ...forPages },
];
