/** Quotes a word for a POSIX shell, if it needs quotes. */
export const quoteShellWord = (word: string): string =>
  /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
