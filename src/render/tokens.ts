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

/** What a list of tools costs before the first question. */
export function toolTokens(tools: Listed[]): number {
  if (tools.length === 0) return 0;
  return estimateTokens(
    JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))),
  );
}
