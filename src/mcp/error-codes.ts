/** Error codes of the MCP specification, beside those of JSON-RPC in `wire/message.ts`. */

/** Error code of the legacy era for an unknown resource; the modern era uses INVALID_PARAMS. */
export const RESOURCE_NOT_FOUND = -32002;

/** Error code of the modern era: the headers of a request contradict its body. */
export const HEADER_MISMATCH = -32020;

/** Error code of the modern era: the client lacks a capability that the server requires. */
export const MISSING_CAPABILITY = -32021;

/** Error code of the modern era; its data lists the supported versions. */
export const UNSUPPORTED_VERSION = -32022;
