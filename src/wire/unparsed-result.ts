/** A result that holds too many values to be parsed, kept as JSON text. */
import { isLosslessNumber } from '../lossless-json.ts';
import { membersOf } from './json-members.ts';
import { type Id, isId } from './message.ts';

export class Unparsed {
  /** The text that the server sent; it has not been validated. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Returns a response with an unparsed result; undefined if the text is not a response. */
export function readUnparsed(text: string): { id: Id; result: Unparsed } | undefined {
  const members = new Map(membersOf(text));
  const result = members.get('result');
  const id = idIn(members.get('id'));
  if (id === undefined || result === undefined || members.has('method')) return undefined;
  return result.startsWith('{') ? { id, result: new Unparsed(result) } : undefined;
}

function idIn(json: string | undefined): Id | undefined {
  try {
    const id: unknown = JSON.parse(json ?? 'null');
    return isId(id) && !isLosslessNumber(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
