/** A result that holds too many values to be parsed: its JSON, as text. */
import { isExact } from '../exact.ts';
import { membersOf } from './members.ts';
import { type Id, isId } from './message.ts';

export class Unparsed {
  /** As the server wrote it; nobody has looked whether it is valid. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An answer with such a result; undefined where the text is none. */
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
    return isId(id) && !isExact(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
