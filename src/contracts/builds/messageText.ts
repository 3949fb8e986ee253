/** Characters that break a line, hide a part of it or reverse its direction. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const MAX_LINE_CHARACTERS = 160
const MAX_PATH_CHARACTERS = 120

/** Returns text of a source, or of its commands, as a part of one line. */
export function toSingleLine(text = '', maxLength = MAX_LINE_CHARACTERS): string {
  const line = text.toWellFormed().replaceAll(INVISIBLE, ' ').trim()
  return line.length > maxLength ? `${line.slice(0, maxLength).toWellFormed()}...` : line
}

/** Returns a path of a source in quotes, with invisible characters escaped so that its owner finds them. */
export function quotedPath(path: string): string {
  const escaped = (found: string) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
  const cut = path.length > MAX_PATH_CHARACTERS ? `${path.slice(0, MAX_PATH_CHARACTERS)}...` : path
  return JSON.stringify(cut).replaceAll(INVISIBLE, escaped)
}
