/** Estimates the language model tokens of a text, because exact tokenizers take megabytes. Show the number with ≈. */
import { estimateTokenCount } from 'tokenx';

export function estimateTokens(text: string): number {
  return estimateTokenCount(text);
}

/** The fields of a listed tool that clients pass to a model; titles, annotations and `_meta` are for the client. */
interface Listed {
  name: string;
  description?: unknown;
  inputSchema?: unknown;
}

/**
 * Estimates the tokens that a listed tool takes in a model's context; without a schema it counts as one line of a list.
 */
export function toolTokens({ name, description, inputSchema }: Listed): number {
  if (inputSchema === undefined) return estimateTokens(`${name} ${description ?? ''}\n`);
  return estimateTokens(JSON.stringify({ name, description, inputSchema }));
}
