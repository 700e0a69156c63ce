/** The `oauth` settings of one server, as they are used: names of other clients are accepted. */
import { McpxError } from '../../errors.ts';

export interface OAuthSettings {
  clientId?: string;
  clientSecret?: string;
  /** URL of a client metadata document, which identifies mcpx to servers that support such documents. */
  clientMetadataUrl?: string;
  /** PEM text of the key that signs the client assertion (`private_key_jwt`). */
  privateKey?: string;
  /** The scopes to request; if undefined, the server decides. */
  scopes?: string[];
  grant: 'authorization_code' | 'client_credentials';
  /** The port of the loopback callback; if undefined, any free one. */
  callbackPort?: number;
  /** The issuer to use if the server names several. */
  issuer?: string;
}

const KNOWN = 'clientId, clientSecret, clientMetadataUrl, privateKey, scopes, grant, callbackPort, issuer';

/** Throws McpxError('config') that names the setting that cannot be used. */
export function readOAuthSettings(written: Record<string, unknown>, name: string): OAuthSettings {
  const wrong = (key: string, expected: string) =>
    new McpxError('config', `"oauth.${key}" of server "${name}" must be ${expected}`, {
      hint: `the settings are ${KNOWN}`,
    });
  const text = (key: string): string | undefined => {
    const value = written[key];
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value !== 'string') throw wrong(key, 'a text');
    return value;
  };
  const grant = text('grant') ?? 'authorization_code';
  if (grant !== 'authorization_code' && grant !== 'client_credentials')
    throw wrong('grant', '"authorization_code" or "client_credentials"');
  const port = written.callbackPort;
  if (port !== undefined && port !== null && !(Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536))
    throw wrong('callbackPort', 'a port number');
  const metadata = text('clientMetadataUrl');
  if (metadata !== undefined && !isHttps(metadata)) throw wrong('clientMetadataUrl', 'an https URL with a path');
  const values = {
    clientId: text('clientId'),
    clientSecret: text('clientSecret'),
    clientMetadataUrl: metadata,
    privateKey: text('privateKey'),
    issuer: text('issuer'),
    scopes: readScopes(written.scopes ?? written.scope, wrong),
    callbackPort: typeof port === 'number' ? port : undefined,
  };
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  const settings: OAuthSettings = { grant, ...given };
  if (grant === 'client_credentials' && (settings.clientId === undefined || !hasClientSecret(settings)))
    throw wrong('grant', '"authorization_code", or have "clientId" and "clientSecret" or "privateKey" beside it');
  return settings;
}

function hasClientSecret({ clientSecret, privateKey }: OAuthSettings): boolean {
  return clientSecret !== undefined || privateKey !== undefined;
}

function readScopes(value: unknown, wrong: (key: string, expected: string) => McpxError): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value.split(/[\s,]+/).filter((scope) => scope !== '');
  if (Array.isArray(value) && value.every((scope) => typeof scope === 'string')) return value;
  throw wrong('scopes', 'a list of texts');
}

function isHttps(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === 'https:' && new URL(url).pathname !== '/';
}
