import { isShown, SHOWN_LINE } from '../core/shownText.ts'

/** Bytes that file systems take. */
const LONGEST_NAME = 255

/** Why a path of an upload may not have these names: no file system takes one, or no reader can see it. Undefined if it may. */
export function namesObstacle(names: readonly string[]): string | undefined {
  for (const name of names) {
    if (Buffer.byteLength(name) > LONGEST_NAME) return `has a name longer than ${LONGEST_NAME} bytes`
    if (/[\p{Cc}\\]/u.test(name)) return 'contains a control character or a backslash'
    if (!name.isWellFormed() || !isShown(SHOWN_LINE, name)) return 'has a name with invisible characters'
  }
  return undefined
}

/** A name as file systems take it that tell neither case nor forms of Unicode apart. */
export const spelled = (name: string) => name.normalize('NFC').toLowerCase()
