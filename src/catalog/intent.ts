/** What kind of act a question asks for and a tool performs: reading, making, changing, deleting. */
import { stem } from './words.ts';

export type Act = 'read' | 'create' | 'update' | 'delete';

const ACTS: Record<Act, string> = {
  read: 'get read list view fetch retrieve search find query lookup describe browse see count compare',
  create: 'create add new insert generate draft compose upload register book arrange',
  update: 'update edit modify change patch set rename replace configure adjust',
  delete: 'delete remove erase discard trash purge wipe drop clear forget',
};

/** A question asks to read; these begin one. */
const QUESTION = 'what which who whom whose where when why is are was were did does how';

/** How well a tool that does one thing serves a question for another. */
const FIT: Record<Act, Record<Act, number>> = {
  read: { read: 1, create: 0.6, update: 0.6, delete: 0.5 },
  create: { read: 0.65, create: 1, update: 0.85, delete: 0.5 },
  update: { read: 0.65, create: 0.85, update: 1, delete: 0.5 },
  delete: { read: 0.6, create: 0.5, update: 0.6, delete: 1 },
};
/** Without a word for it reading is meant most often, and deleting hardly ever. */
const UNSAID: Record<Act, number> = { read: 1, create: 0.95, update: 0.9, delete: 0.7 };

export interface Intents {
  /** The act that words speak of, the first one counts. */
  actOf(words: readonly string[]): Act | undefined;
  isQuestion(word: string | undefined): boolean;
}

export function createIntents(): Intents {
  const acts = new Map<string, Act>();
  for (const [act, words] of Object.entries(ACTS))
    for (const word of words.split(' ')) acts.set(stem(word), act as Act);
  const questions = new Set(QUESTION.split(' ').map(stem));
  return {
    actOf(words) {
      const verb = words.find((word) => acts.has(word));
      return verb === undefined ? undefined : acts.get(verb);
    },
    isQuestion: (word) => word !== undefined && questions.has(word),
  };
}

/** What the score of a tool is multiplied with. */
export function suits(asked: Act | undefined, done: Act | undefined): number {
  if (done === undefined) return 1;
  return asked === undefined ? UNSAID[done] : FIT[asked][done];
}
