/** The fields of `http.auth.oauth`: access tokens of OAuth clients of the gateway. */
import { choice, duration, FILTERS, type Field, flag, group, text, texts, whole } from './field-kinds.ts';
import { TOKEN_ALGORITHMS } from './gateway-oauth.ts';

/** The fields of one rule for access tokens. */
export const OAUTH_RULE: Field = {
  kind: 'group',
  name: 'rule',
  fields: {
    scopes: texts('Scopes that the token must have, all of them.', { single: true }),
    claims: {
      kind: 'map',
      of: { kind: 'list', of: { kind: 'scalar' }, single: true },
      doc: 'Claims that the token must have: globs, of which one must match the value or an item of it. Dots lead into objects.',
    },
    profiles: texts('Profiles that the token may use. Absent: all.'),
    servers: texts('Globs of servers that the token may use. Absent: all.'),
    ...FILTERS,
    admin: flag('Whether the token may change servers at run time (default false).'),
  },
};

/** The fields of the built-in authorization server. */
const BUILTIN: Field = group('The built-in authorization server.', {
  password: text(
    'Users may enter it on the consent page instead of a token; write it as "${VAR}" and set that variable.',
    {
      nullable: true,
    },
  ),
  accessToken: duration('For how long an access token is valid. Clients renew it themselves.', 60_000),
  signInDays: whole('After so many days without a renewal, a client has to sign in again.', 1, 3650),
});

const INTROSPECTION: Field = group('Introspection: mcpx asks the issuer about each token instead of checking a JWT.', {
  endpoint: text('Its URL. null = the one in the metadata of the issuer.', { nullable: true }),
  clientId: text('The client that asks; it switches introspection on.', { nullable: true }),
  clientSecret: text('Its secret; write it as "${VAR}" and set that variable.', { nullable: true }),
  cache: duration('For how long an answer is used. A revoked token works for that long.', 0),
});

export const OAUTH: Field = group('Access tokens of OAuth, beside the tokens above.', {
  mode: choice(
    'Who issues them: an authorization server of yours, or the one inside mcpx.',
    ...['off', 'issuer', 'builtin'],
  ),
  url: text('The public https URL of this gateway without /mcp. null = loopback only.', { nullable: true }),
  requiredScopes: texts('Scopes that every token must have.'),
  profileScope: text(
    'The scope that allows a profile, such as "mcp:{profile}". null = none; with "builtin" its name.',
    {
      nullable: true,
    },
  ),
  rules: {
    kind: 'list',
    of: OAUTH_RULE,
    doc: 'What tokens may do: the first rule that matches counts, and without a match the token is refused. None: all but admin.',
  },
  issuer: text('The authorization server, as its metadata and tokens name it.', { nullable: true }),
  audience: texts('Audiences that mean this gateway, beside its URLs.', { single: true }),
  jwksUri: text('Where its keys are. null = where its metadata says.', { nullable: true }),
  algorithms: {
    kind: 'list',
    of: { kind: 'enum', values: TOKEN_ALGORITHMS },
    doc: 'Signature algorithms that are accepted.',
  },
  clockTolerance: duration('How far the clocks of both may differ.', 0),
  introspection: INTROSPECTION,
  builtin: BUILTIN,
});
