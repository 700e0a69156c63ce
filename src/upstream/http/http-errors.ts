/** Error messages for an HTTP upstream that refused a request, closed the connection or could not be reached. */
import { STATUS_CODES } from 'node:http';
import { type Fault, McpxError, RpcError } from '../../errors.ts';
import { isOutOfHandles, MORE_HANDLES, OUT_OF_HANDLES } from '../../file-handles.ts';
import { decode } from '../../wire/framing.ts';
import { undelivered } from '../../wire/undelivered.ts';
import type { Redactor } from '../secret-redactor.ts';
import { type Authorization, isAuthStatus } from './authorization.ts';

export const ENDPOINT = 'check "url": it must be the address of an MCP endpoint, which often ends in /mcp or /sse';

export interface Refusal {
  name: string;
  status: number;
  body: string;
  retryAfter: string | undefined;
  /** True if the request had a session id. */
  inSession: boolean;
  /** Removes secrets: the body may quote the request. */
  redactor: Redactor;
  /** Returns the error for status 401 and 403. */
  authorization: Pick<Authorization, 'error'>;
}

/** Returns the error for a response with an error status. A JSON-RPC error in the body is relayed verbatim. */
export function refusalError(refusal: Refusal): McpxError | RpcError {
  const { name, status, body } = refusal;
  if (isSessionLost(refusal)) return undelivered(`server "${name}" no longer knows the session (HTTP ${status})`);
  if (isAuthStatus(status)) return refusal.authorization.error(status);
  const said = `HTTP ${status}${STATUS_CODES[status] ? ` ${STATUS_CODES[status]}` : ''}`;
  const [first] = decode(body);
  if (first?.message && 'error' in first.message && first.message.error) {
    const { code, message, data } = first.message.error;
    return new RpcError(code, message, data);
  }
  if (status === 429) {
    const hint = refusal.retryAfter === undefined ? undefined : `it asks to be tried again after ${refusal.retryAfter}`;
    return new McpxError('overloaded', `server "${name}" has had too many requests (${said})`, { hint });
  }
  const hint = status === 404 || status === 405 ? ENDPOINT : undefined;
  const text = `server "${name}" answered ${said}${excerpt(body, refusal.redactor)}`;
  const fault = hint === undefined ? 'status' : 'no-endpoint';
  return new McpxError('unreachable', text, { hint, data: { status }, fault });
}

/**
 * Returns true if the session has expired. The specification requires 404; many servers send 400 and mention the
 * session.
 */
function isSessionLost({ status, body, inSession }: Refusal): boolean {
  return inSession && (status === 404 || (status === 400 && /session/i.test(body)));
}

/** Returns the error for a failed exchange; a failed connect is marked as undelivered because nothing was sent. */
export function networkError(name: string, address: string, error: NodeJS.ErrnoException): Error {
  if (error instanceof McpxError || error instanceof RpcError) return error;
  if (error.code === 'ERR_INVALID_CHAR' || error.code === 'ERR_INVALID_HTTP_TOKEN') {
    return new McpxError('config', `server "${name}" has a header that cannot be sent: ${error.message}`);
  }
  // This is not a failure of the upstream, so the connection stays open.
  if (isOutOfHandles(error))
    return new McpxError('overloaded', `server "${name}" was not contacted: ${OUT_OF_HANDLES}`, {
      hint: MORE_HANDLES,
      cause: error,
    });
  const why = error.code ?? error.message;
  if (isCertificate(error)) {
    const hint = 'if you trust its authority, set NODE_EXTRA_CA_CERTS to the file with its certificate';
    return undelivered(`server "${name}" has a certificate that is not trusted: ${why}`, {
      hint,
      cause: error,
      fault: 'certificate',
    });
  }
  if (isConnect(error))
    return undelivered(`server "${name}" cannot be reached at "${address}": ${why}`, {
      hint: connectHint(error),
      cause: error,
      fault: connectFault(error),
    });
  const fault = isTls(error) ? 'tls' : undefined;
  const hint = why.startsWith('HPE_') ? 'check "url": the program at this address does not speak HTTP' : undefined;
  return new McpxError('unreachable', `server "${name}" broke off: ${why}`, { hint, cause: error, fault });
}

function connectHint({ code, syscall }: NodeJS.ErrnoException): string {
  if (syscall === 'getaddrinfo') return 'check the host in "url", and that this machine has a network';
  return code === 'ECONNREFUSED' ? 'start it, or correct "url" in the config' : 'check "url" in the config';
}

function connectFault(error: NodeJS.ErrnoException): Fault {
  if (error.syscall === 'getaddrinfo') return 'dns';
  return error.code === 'ECONNREFUSED' ? 'no-listener' : 'no-connection';
}

/** Returns true if the TLS handshake failed, such as with a server that speaks plain HTTP. */
function isTls({ code = '' }: NodeJS.ErrnoException): boolean {
  return /^(?:EPROTO$|ERR_SSL_|ERR_TLS_)/.test(code);
}

/** Returns true if no connection was made; an AggregateError means that every address of the host failed. */
function isConnect(error: NodeJS.ErrnoException): boolean {
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo' || error instanceof AggregateError;
}

function isCertificate({ code = '' }: NodeJS.ErrnoException): boolean {
  return /CERT|^UNABLE_TO_/.test(code);
}

function excerpt(body: string, redactor: Redactor): string {
  const text = redactor
    .text(body)
    .slice(0, 300)
    .replace(/[\x00-\x1f\x7f-\x9f\s]+/g, ' ')
    .trim();
  return text === '' || text.startsWith('<') ? '' : `: ${text.slice(0, 200)}`;
}
