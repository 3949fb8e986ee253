/** What would break a line, hide a part of it or turn it around. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const CUT = 160

/** A text of a source, or of a command of it, as a part of one line. */
export function shown(text = '', most = CUT): string {
  const line = text.toWellFormed().replaceAll(UNSEEN, ' ').trim()
  return line.length > most ? `${line.slice(0, most).toWellFormed()}...` : line
}

/** A path of a source in quotes: what cannot be seen is written out, so that its owner finds it. */
export function quotedPath(path: string, most = 120): string {
  const escaped = (found: string) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
  const cut = path.length > most ? `${path.slice(0, most)}...` : path
  return JSON.stringify(cut).replaceAll(UNSEEN, escaped)
}
