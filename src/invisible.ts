/** Characters that nobody sees: controls, marks that reorder text, and all that Unicode gives no shape. They hide words from people that a model reads. */

/** Controls but tab and newline, separators of lines, and marks of annotations. */
const CONTROLS = String.raw`[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\uFFF9-\uFFFB]`;
/** Zero-width characters, bidi marks, fillers, tags, variation selectors. https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point */
const SHAPELESS = String.raw`\p{Default_Ignorable_Code_Point}`;

/** Scripts that are spelled with joiners: a joiner behind one of their letters decides how a word is written. */
const JOINING = [
  ...['Arabic', 'Syriac', 'Nko', 'Mongolian', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil'],
  ...['Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar', 'Tibetan'],
];
const LETTER = `(?!${SHAPELESS})[${JOINING.map((script) => `\\p{Script_Extensions=${script}}`).join('')}]`;
const PICTURE = String.raw`\p{Extended_Pictographic}`;

/** Where a shapeless character means something: in words of those scripts, in joined emoji, behind an emoji, in a keycap. */
const MEANT = [
  String.raw`(?<=${LETTER})[\u200C\u200D\u180B-\u180D\u180F]`,
  String.raw`(?<=${PICTURE}\uFE0F?|\p{Emoji_Modifier})\u200D(?=${PICTURE})`,
  String.raw`(?<=${PICTURE})[\uFE0E\uFE0F]`,
  String.raw`(?<=[0-9#*])\uFE0F(?=\u20E3)`,
].join('|');

const ORDINARY = /^[\t\n\x20-\x7E]*$/;
const SOME = new RegExp(`(?!${MEANT})(?:${CONTROLS}|${SHAPELESS})`, 'gu');
const ALL = new RegExp(`${CONTROLS}|${SHAPELESS}`, 'gu');

/** For text that people read: joiners stay where a script or an emoji needs them. */
export function removeInvisible(text: string): string {
  return ORDINARY.test(text) ? text : text.replace(SOME, '');
}

/** For names, which are told apart by what is seen of them. */
export function removeAllInvisible(text: string): string {
  return ORDINARY.test(text) ? text : text.replace(ALL, '');
}

/** For lines of a log and for literals, which must say everything: `\u200b`. */
export function escapeInvisible(text: string): string {
  return ORDINARY.test(text) ? text : text.replace(SOME, escaped);
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
