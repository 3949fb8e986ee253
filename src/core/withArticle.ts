/** Returns the name of a kind with its article: `an AccountBucket`. */
export const withArticle = (name: string) => `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
