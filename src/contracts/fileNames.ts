import { isShown, SHOWN_LINE } from '../core/shownText.ts'

/** Maximum bytes of a name on common file systems. */
const MAX_NAME_BYTES = 255

/** Returns why an uploaded path must not have these names: invalid on file systems, or invisible to readers. */
export function namesObstacle(names: readonly string[]): string | undefined {
  for (const name of names) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `has a name longer than ${MAX_NAME_BYTES} bytes`
    if (/[\p{Cc}\\]/u.test(name)) return 'contains a control character or a backslash'
    if (!name.isWellFormed() || !isShown(SHOWN_LINE, name)) return 'has a name with invisible characters'
  }
  return undefined
}

/** Returns a name as file systems compare it that ignore case and Unicode form. */
export const foldFileName = (name: string) => name.normalize('NFC').toLowerCase()
