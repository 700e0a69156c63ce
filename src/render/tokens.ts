/** How many language model tokens a text costs, estimated: exact tokenizers weigh megabytes. Show the number with ≈. */
import { estimateTokenCount } from 'tokenx';

export function estimateTokens(text: string): number {
  return estimateTokenCount(text);
}

/** As much of a listed tool as clients put before a model; titles, annotations and `_meta` are for the client. */
interface Listed {
  name: string;
  description?: unknown;
  inputSchema?: unknown;
}

/** What a listed tool costs before the first question; without a schema it is a line of a list. */
export function toolTokens({ name, description, inputSchema }: Listed): number {
  if (inputSchema === undefined) return estimateTokens(`${name} ${description ?? ''}\n`);
  return estimateTokens(JSON.stringify({ name, description, inputSchema }));
}
