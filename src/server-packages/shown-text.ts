/** The texts of a package that a terminal shows. Their author is a stranger, so they may hold escape sequences. */
import { removeInvisible } from '../invisible-characters.ts';

/** Returns the text on one line without control characters; an empty text for any other value. */
export function shownText(value: unknown): string {
  return typeof value === 'string' ? removeInvisible(value.replace(/\s+/g, ' ')).trim() : '';
}
