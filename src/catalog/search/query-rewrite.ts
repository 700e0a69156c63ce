/** Rewrites a question for the search: names of files, pages and people become their kind, and separable verbs become one word. */

/** Patterns of names in a question, and the kind of thing that replaces them or is added to them (`$&`). */
const NAMED: readonly [RegExp, string][] = [
  [/\S+@[\w-]+\.[\w.]+/gu, ' email '],
  [/\bhttps?:\/\/\S+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|cn|de|uk|jp)\b\S*/giu, ' url web page '],
  [/[\w./\\-]+\.(?:png|jpe?g|gif|webp|svg|bmp)\b/giu, ' image file '],
  [/[\w./\\-]+\.(?:docx?|pdf|txt|md|ya?ml|toml|ini|log|html?|css|zip|gz|env)\b/giu, ' file '],
  [/[\w./\\-]+\.(?:[cm]?[jt]sx?|py|go|rs|java|sh)\b/giu, ' $& file '],
  [/[\w./\\-]+\.(?:xlsx?|csv|tsv)\b/giu, ' file table '],
  [/(?<=^|\s)#\p{L}[\p{L}\d_-]*/gu, ' channel '],
  [/(?<=^|\s)@\p{L}[\p{L}\d_.-]*/gu, ' user '],
  // A time of day or a date, whose letters also mean to click or a monthly report.
  [/[零一二三四五六七八九十两\d]{1,3}(?:点[钟半整]?|号|月)/gu, ' '],
];

/** Separable verbs with an object inside, and the verb that tools use: `take the page down`. */
const SEPARATED: readonly [verb: string, particle: string, instead: string][] = [
  ['look', 'up', 'search'],
  ['take', 'offline|down', 'unpublish'],
  ['put', 'online|live', 'publish deploy'],
  ['push|move', 'back', 'reschedule'],
  ['turn|make', 'into', 'convert'],
  ['tick|check|cross', 'off', 'complete'],
  ['call', 'off', 'cancel'],
  ['throw', 'away|out', 'delete'],
  ['bring|keep', 'up to date', 'update'],
  ['bring|get', 'back', 'restore'],
  ['write|note|jot', 'down', 'note down'],
  ['keep', 'in mind', 'remember'],
  ['set', 'up', 'create'],
  ['pass|send', 'on to', 'forward'],
  ['shut|tear', 'down', 'stop'],
  ['switch|turn', 'on', 'enable'],
  ['switch|turn', 'off', 'disable'],
  ['pull|get|take', 'out of', 'extract from'],
  ['let', 'know', 'notify message'],
  ['give', 'access', 'share permission'],
  ['fill', 'in|out', 'fill'],
  ['roll', 'back', 'rollback'],
  ['put|move|hold', 'over', 'hover'],
];

export interface QueryRewrite {
  /** Returns the question with those words replaced. */
  of(question: string): string;
}

export function createQueryRewrite(): QueryRewrite {
  const separated = SEPARATED.map(
    ([verb, particle, instead]) =>
      [new RegExp(`\\b(?:${verb})\\s+(.{1,40}?)\\s+(?:${particle})\\b`, 'giu'), ` ${instead} $1 `] as const,
  );
  return {
    of: (question) => [...NAMED, ...separated].reduce((text, [said, instead]) => text.replace(said, instead), question),
  };
}
