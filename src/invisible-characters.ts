/** Removes or escapes invisible characters: controls, bidirectional marks, default ignorables. They could hide text from people that a model still reads. */

/** Controls except tab and newline, line separators, and interlinear annotation marks. */
const CONTROLS = String.raw`[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\uFFF9-\uFFFB]`;
/** Zero-width characters, bidi marks, fillers, tags, variation selectors. https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point */
const SHAPELESS = String.raw`\p{Default_Ignorable_Code_Point}`;

/** Scripts whose spelling uses joiners: a joiner after one of their letters decides how a word is written. */
const JOINING = [
  ...['Arabic', 'Syriac', 'Nko', 'Mongolian', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil'],
  ...['Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar', 'Tibetan'],
];
const LETTER = `(?!${SHAPELESS})[${JOINING.map((script) => `\\p{Script_Extensions=${script}}`).join('')}]`;
const PICTURE = String.raw`\p{Extended_Pictographic}`;

/**
 * Positions where an invisible character has a meaning: in words of those scripts, in joined emoji, after an emoji, in
 * a keycap.
 */
const MEANT = [
  String.raw`(?<=${LETTER})[\u200C\u200D\u180B-\u180D\u180F]`,
  String.raw`(?<=${PICTURE}\uFE0F?|\p{Emoji_Modifier})\u200D(?=${PICTURE})`,
  String.raw`(?<=${PICTURE})[\uFE0E\uFE0F]`,
  String.raw`(?<=[0-9#*])\uFE0F(?=\u20E3)`,
].join('|');

const ORDINARY = /^[\t\n\x20-\x7E]*$/;
const SOME = new RegExp(`(?!${MEANT})(?:${CONTROLS}|${SHAPELESS})`, 'gu');
const ALL = new RegExp(`${CONTROLS}|${SHAPELESS}`, 'gu');

/** Removes invisible characters from text that people read; keeps joiners where a script or an emoji needs them. */
export function removeInvisible(text: string): string {
  return ORDINARY.test(text) ? text : text.replace(SOME, '');
}

/** Removes all invisible characters, for names, which must differ visibly. */
export function removeAllInvisible(text: string): string {
  return ORDINARY.test(text) ? text : text.replace(ALL, '');
}

/** Escapes invisible characters as `\u200b`, for log lines and literals, which must not lose any. */
export function escapeInvisible(text: string): string {
  return ORDINARY.test(text) ? text : text.replace(SOME, escaped);
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
