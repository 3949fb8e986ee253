/** Text of several lines: no control characters of C0 and C1 but tabs and line breaks, and none that turns its direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the pattern refuses.
export const PROSE = /^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*$/
export const PROSE_MESSAGE = 'must have no control characters other than tabs and line breaks'
