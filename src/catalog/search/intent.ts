/** Classifies the act that a question asks for and a tool performs: reading, creating, updating, deleting. */
import { stem } from './tokenizer.ts';

export type Act = 'read' | 'create' | 'update' | 'delete';

const ACTS: Record<Act, string> = {
  read: 'get read list view fetch retrieve search find query lookup describe browse see count compare show explain export download',
  create:
    'create add new insert post generate draft compose upload register book arrange make build send write reply forward save store upsert submit remember invite share duplicate fork',
  update:
    'update edit modify change patch set rename replace configure adjust move reschedule transfer translate convert format',
  delete: 'delete remove erase discard trash purge wipe drop clear forget uninstall unpublish',
};

/** Further verbs that begin a request. They do not classify it. */
const OTHER_VERBS = [
  'take run start stop open close merge deploy publish play pause order pay refund cancel check verify validate',
  'test call text email message tell notify ask click tap type scroll navigate visit go press approve reject accept',
  'decline assign schedule plan summarize analyze calculate print scan record capture review comment sort filter',
  'track monitor enable disable restart turn sign log sync import attach archive restore pin mark tag label',
].flatMap((words) => words.split(' '));

/** Words that begin a question, which asks to read. */
const QUESTION = 'what which who whom whose where when why is are am was were did does has have any how';
/** Matches a question for a way to do something: `how do I delete a label`. */
const HOW_TO = /^how (?:do|doe|to|can|could|would|should)\b/;
const CHINESE_QUESTION = /[吗呢]|什么|哪|谁|多少|几[个条点次位]|为何|怎么[了走去]|有没有|是否|是不是|多[大远高久长快]/u;

/** Factors for tools of another act. They decide between tools of the same words, and seldom more. */
const OTHER = { write: 0.95, read: 0.87, delete: 0.8 };

export interface Intents {
  /** Returns the act of the first verb among the words. */
  actOf(words: readonly string[]): Act | undefined;
  /** True for a verb that begins a request, also one without a class. */
  isVerb(word: string): boolean;
  /** True if the text asks for information, judged by its English words and the original text. */
  isQuestion(words: readonly string[], text: string): boolean;
}

export function createIntents(): Intents {
  const acts = new Map<string, Act>();
  for (const [act, words] of Object.entries(ACTS))
    for (const word of words.split(' ')) acts.set(stem(word), act as Act);
  const verbs = new Set([...acts.keys(), ...OTHER_VERBS.map(stem)]);
  const questions = new Set(QUESTION.split(' ').map(stem));
  return {
    actOf(words) {
      const verb = words.find((word) => acts.has(word));
      return verb === undefined ? undefined : acts.get(verb);
    },
    isVerb: (word) => verbs.has(word),
    isQuestion: (words, text) =>
      CHINESE_QUESTION.test(text) || (questions.has(words[0] ?? '') && !HOW_TO.test(words.slice(0, 2).join(' '))),
  };
}

/** Returns the factor for the score of a tool. A question without a verb most often asks to read, and hardly ever to delete. */
export function suits(asked: Act | undefined, done: Act | undefined): number {
  if (done === undefined || asked === done) return 1;
  if (asked === undefined && done !== 'delete') return done === 'read' ? 1 : OTHER.write;
  if (asked === 'delete' || done === 'delete') return OTHER.delete;
  return asked === 'read' || done === 'read' ? OTHER.read : OTHER.write;
}
