/** The rights of an access token, by its scopes and claims. */
import type { TokenRights } from '../config/config.ts';
import type { GatewayOAuth, OAuthRule } from '../config/gateway-oauth.ts';
import type { TokenRefusal } from './access-tokens.ts';
import { matchesGlob } from './glob.ts';

export interface Granted {
  scopes: string[];
  claims: Record<string, unknown>;
  /** The profiles for which the token was issued; undefined for the whole gateway. */
  audience?: string[] | undefined;
}

type Rules = Pick<GatewayOAuth, 'requiredScopes' | 'profileScope' | 'rules'>;

const EVERYTHING: TokenRights = { tools: {}, resources: {}, prompts: {}, admin: false };

export function rightsOf(
  { requiredScopes, profileScope, rules }: Rules,
  { scopes, claims, audience }: Granted,
): TokenRights | { refused: TokenRefusal } {
  const missing = requiredScopes.filter((scope) => !scopes.includes(scope));
  const allowed = profileScope === null ? undefined : profilesIn(profileScope, scopes);
  if (missing.length > 0 || allowed?.length === 0) return { refused: insufficient(missing, profileScope) };
  const rule = rules.length === 0 ? EVERYTHING : rules.find((one) => matches(one, scopes, claims));
  if (rule === undefined) return { refused: NO_RULE };
  const { scopes: _scopes, claims: _claims, profiles: named, ...rights } = rule as OAuthRule;
  const profiles = [named, allowed, audience].reduce(common);
  return { ...rights, ...(profiles && { profiles }) };
}

function insufficient(missing: string[], profileScope: string | null): TokenRefusal {
  const what = missing.length > 0 ? missing.map((scope) => `"${scope}"`).join(' and ') : `"${profileScope}"`;
  return { status: 403, message: `the token has not the scope ${what}`, hint: 'sign in again with that scope' };
}

const NO_RULE: TokenRefusal = {
  status: 403,
  message: 'no rule of this gateway is for this token',
  hint: 'ask the operator: the first entry of "http.auth.oauth.rules" that matches scopes and claims decides',
  isFinal: true,
};

/** Returns the profiles that scopes of this form name. */
function profilesIn(form: string, scopes: readonly string[]): string[] {
  const [before = '', after = ''] = form.split('{profile}');
  return scopes
    .filter((scope) => scope.length > before.length + after.length)
    .filter((scope) => scope.startsWith(before) && scope.endsWith(after))
    .flatMap((scope) => decoded(scope.slice(before.length, scope.length - after.length)));
}

function decoded(text: string): string[] {
  try {
    return [decodeURIComponent(text)];
  } catch {
    return [];
  }
}

function common(one: string[] | undefined, other: string[] | undefined): string[] | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one.filter((name) => other.includes(name));
}

function matches(rule: OAuthRule, scopes: readonly string[], claims: Record<string, unknown>): boolean {
  if (!(rule.scopes ?? []).every((scope) => scopes.includes(scope))) return false;
  return Object.entries(rule.claims ?? {}).every(([name, globs]) => {
    const values = [claimOf(claims, name)]
      .flat()
      .filter((value) => ['string', 'number', 'boolean'].includes(typeof value));
    return values.some((value) => globs.some((glob) => matchesGlob(glob, String(value))));
  });
}

/** Returns a claim by its name, which may have dots itself, else by the path of its name. */
function claimOf(claims: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split('.').reduce<unknown>((inner, key) => {
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
    return isObject && Object.hasOwn(inner, key) ? (inner as Record<string, unknown>)[key] : undefined;
  }, claims);
}
