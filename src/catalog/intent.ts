/** What kind of act a question asks for and a tool performs: reading, making, changing, deleting. */
import { stem } from './words.ts';

export type Act = 'read' | 'create' | 'update' | 'delete';

const ACTS: Record<Act, string> = {
  read: 'get read list view fetch retrieve search find query lookup describe browse see count compare show explain export download',
  create:
    'create add new insert generate draft compose upload register book arrange make build send write reply forward save store upsert submit remember invite share duplicate fork',
  update:
    'update edit modify change patch set rename replace configure adjust move reschedule transfer translate format',
  delete: 'delete remove erase discard trash purge wipe drop clear forget uninstall unpublish',
};

/** A question asks to read; these begin one. */
const QUESTION = 'what which who whom whose where when why is are am was were did does has have any how';
/** Asks for a way to do something: `how do I delete a label`. */
const HOW_TO = /^how (?:do|doe|to|can|could|would|should)\b/;
const CHINESE_QUESTION = /[吗呢]|什么|哪|谁|多少|几[个条点次位]|为何|怎么[了走去]|有没有|是否|是不是|多[大远高久长快]/u;

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
  /** Whether something is to be told, by the words in English and the text as it is. */
  isQuestion(words: readonly string[], text: string): boolean;
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
    isQuestion: (words, text) =>
      CHINESE_QUESTION.test(text) || (questions.has(words[0] ?? '') && !HOW_TO.test(words.slice(0, 2).join(' '))),
  };
}

/** What the score of a tool is multiplied with. */
export function suits(asked: Act | undefined, done: Act | undefined): number {
  if (done === undefined) return 1;
  return asked === undefined ? UNSAID[done] : FIT[asked][done];
}
