/** Exposed resource URIs: each contains the name of its server, so that URIs of two servers never collide. */
import type { Settings } from '../config/config.ts';
import { isRecord } from '../wire/message.ts';

/** The original URI of a resource, and its server. */
export interface Located {
  server: string;
  uri: string;
}

const RESOURCE = 'proxy://resource/';
const TEMPLATE = 'proxy://template/';
/** Clients recognise the page of an app by this scheme, so it is kept. */
const UI = 'ui://';
const UI_WRAPPED = 'ui://mcpx/';
const UI_TEMPLATE = 'ui://mcpx-template/';

type Style = Settings['naming']['resources'];

export function exposeUri({ server, uri }: Located, style: Style): string {
  if (style === 'keep') return uri;
  return `${uri.startsWith(UI) ? UI_WRAPPED : RESOURCE}${encode({ server, uri })}`;
}

/** Exposes a template as a template: the URI that a client expands ends with the URI that the server knows. */
export function exposeTemplate(server: string, uriTemplate: string, style: Style): string {
  if (style === 'keep') return uriTemplate;
  return `${uriTemplate.startsWith(UI) ? UI_TEMPLATE : TEMPLATE}${encode({ server })}/${uriTemplate}`;
}

/** Returns the server and original URI of a wrapped URI; undefined for a URI that mcpx did not make. */
export function locateUri(exposed: string): Located | undefined {
  const template = [TEMPLATE, UI_TEMPLATE].find((one) => exposed.startsWith(one));
  if (template !== undefined) {
    const slash = exposed.indexOf('/', template.length);
    const inner = slash < 0 ? undefined : decode(exposed.slice(template.length, slash));
    return typeof inner?.server === 'string' ? { server: inner.server, uri: exposed.slice(slash + 1) } : undefined;
  }
  const prefix = [RESOURCE, UI_WRAPPED].find((one) => exposed.startsWith(one));
  const inner = prefix === undefined ? undefined : decode(exposed.slice(prefix.length));
  if (typeof inner?.server !== 'string' || typeof inner.uri !== 'string') return undefined;
  return { server: inner.server, uri: inner.uri };
}

/** True if a URI is below another: a file in a folder, a part of a page. */
export function isWithin(uri: string, whole: string): boolean {
  return (
    uri.length > whole.length && uri.startsWith(whole) && /[/?#]/.test(uri.slice(whole.length - 1, whole.length + 1))
  );
}

const EXPRESSION = /\{[^{}]*\}/g;
/** Expansions that keep slashes; others write `%2F`: https://www.rfc-editor.org/rfc/rfc6570#section-3.2 */
const TAKES_SLASHES = /^\{[+#/]/;

/**
 * True if a URI matches a template: literals must match, and each `{…}` takes anything, or with `strictly` only a
 * possible expansion (a slash only if it may have one). Runs in linear time, so no template can stall: each literal is
 * taken at its first occurrence.
 */
export function fitsTemplate(uriTemplate: string, uri: string, how: 'strictly' | 'loosely' = 'loosely'): boolean {
  const [first = '', ...rest] = uriTemplate.split(EXPRESSION);
  const last = rest.pop();
  if (last === undefined) return uriTemplate === uri;
  const end = uri.length - last.length;
  if (end < first.length || !uri.startsWith(first) || !uri.endsWith(last)) return false;
  const taken: string[] = [];
  let at = first.length;
  for (const literal of rest) {
    const found = uri.indexOf(literal, at);
    if (found < 0 || found + literal.length > end) return false;
    taken.push(uri.slice(at, found));
    at = found + literal.length;
  }
  if (how === 'loosely') return true;
  const expressions = uriTemplate.match(EXPRESSION) ?? [];
  return [...taken, uri.slice(at, end)].every(
    (value, index) => !value.includes('/') || TAKES_SLASHES.test(expressions[index] ?? ''),
  );
}

/** Returns the number of literal characters of a template. */
export function literalLength(uriTemplate: string): number {
  return uriTemplate.replace(EXPRESSION, '').length;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
