/** The hidden part of the consent page: the request, signed, for one browser, valid once and for ten minutes. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BoundedMap } from '../../bounded-map.ts';
import { createSignedValues } from '../signed-value.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { hashOf } from './token-pairs.ts';

export interface OpenForm {
  /** Identifies the form. */
  id: string;
  request: AuthorizationRequest;
  /** The issuer at which the form was opened. */
  base: string;
}

export interface ConsentForms {
  /** Returns the text of a new form, and the cookie that binds it to the browser. */
  open(request: AuthorizationRequest, base: string, browser: IncomingMessage): { text: string; cookie: string };
  /** Returns the form if it is genuine, not too old, from the same browser and not closed. */
  read(text: string, browser: IncomingMessage): OpenForm | undefined;
  /** Makes a form invalid, after the user has decided. */
  close(id: string): void;
}

/** Milliseconds in which the user has to decide. */
const LIFETIME = 10 * 60_000;
const MAX_CLOSED = 1000;
const COOKIE = 'mcpx-consent';

interface Sealed extends OpenForm {
  expires: number;
  /** The hash of the cookie. */
  browser: string;
}

export function createConsentForms(key: () => Buffer, now: () => number): ConsentForms {
  const closed = new BoundedMap<string, true>(MAX_CLOSED);
  const signed = createSignedValues<Sealed>(key);
  return {
    open(request, base, browser) {
      // One cookie for all pages that are open in the browser.
      const cookie = cookieOf(browser) ?? randomBytes(16).toString('base64url');
      const id = randomBytes(16).toString('base64url');
      const sealed: Sealed = { id, request, base, expires: now() + LIFETIME, browser: hashOf(cookie) };
      const secure = base.startsWith('https:') ? '; Secure' : '';
      const attributes = `Max-Age=${LIFETIME / 1000}; HttpOnly; SameSite=Lax${secure}`;
      return { text: signed.seal(sealed), cookie: `${COOKIE}=${cookie}; ${attributes}` };
    },
    read(text, browser) {
      const form = signed.open(text);
      if (form === undefined) return undefined;
      // A form from the future was opened before the clock was set back.
      const left = form.expires - now();
      const isOpen = left > 0 && left <= LIFETIME && !closed.has(form.id);
      return isOpen && hashOf(cookieOf(browser) ?? '') === form.browser ? form : undefined;
    },
    close: (id) => void closed.set(id, true),
  };
}

function cookieOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  const [, value] = pairs.find(([name]) => name === COOKIE) ?? [];
  return value !== undefined && /^[\w-]{22}$/.test(value) ? value : undefined;
}
