/** How many language model tokens a text costs, estimated: exact tokenizers weigh megabytes. Show the number with ≈. */
import { estimateTokenCount } from 'tokenx';

export function estimateTokens(text: string): number {
  return estimateTokenCount(text);
}
