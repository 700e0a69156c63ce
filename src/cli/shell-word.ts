/** Quotes a word of a command line that a message shows, so that a shell reads it as one word. */
export function shellWord(word: string): string {
  return /^[\w./\\:@~+=%,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
