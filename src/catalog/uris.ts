/** Exposed resource URIs: which server a URI belongs to is inside it, so that two servers can never be mistaken for each other. */
import type { Settings } from '../config/config.ts';
import { isRecord } from '../wire/message.ts';

/** A resource's own URI and the server that has it. */
export interface Located {
  server: string;
  uri: string;
}

const RESOURCE = 'proxy://resource/';
const TEMPLATE = 'proxy://template/';
/** Clients recognise an app's page by this scheme, so it stays. */
const UI = 'ui://';
const UI_WRAPPED = 'ui://mcpx/';
const UI_TEMPLATE = 'ui://mcpx-template/';

type Style = Settings['naming']['resources'];

export function exposeUri({ server, uri }: Located, style: Style): string {
  if (style === 'keep') return uri;
  return `${uri.startsWith(UI) ? UI_WRAPPED : RESOURCE}${encode({ server, uri })}`;
}

/** A template stays one: what a client expands ends with the URI that the server knows. */
export function exposeTemplate(server: string, uriTemplate: string, style: Style): string {
  if (style === 'keep') return uriTemplate;
  return `${uriTemplate.startsWith(UI) ? UI_TEMPLATE : TEMPLATE}${encode({ server })}/${uriTemplate}`;
}

/** What a wrapped URI stands for; undefined for one that we did not make. */
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

/** Whether a URI fits a template: literals must match, each `{…}` takes anything. Linear, so that no template can stall. */
export function fitsTemplate(uriTemplate: string, uri: string): boolean {
  const literals = uriTemplate.split(/\{[^{}]*\}/);
  const [first = '', ...rest] = literals;
  const last = rest.pop();
  if (last === undefined) return uriTemplate === uri;
  if (!uri.startsWith(first)) return false;
  let at = first.length;
  for (const literal of rest) {
    const found = uri.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return uri.length - last.length >= at && uri.endsWith(last);
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
