import { BuildRefusal } from './files.ts'
import { quotedPath } from './messageText.ts'

/** Files and folders, and bytes of all files as checked out. */
export const COMMIT_LIMITS = { entries: 200_000, bytes: 2 * 1024 ** 3 }
const MAX_PATH_BYTES = 2_048
const MAX_NAME_BYTES = 255
const MAX_PATH_DEPTH = 128

/** One record of `git ls-tree -r -t -z --long`. */
const ENTRY = /^\d+ (\w+) \w+ +(\d+|-)\t(.*)$/s

/**
 * Judges the contents of a commit before it is checked out: a few objects can name each other so often that they become
 * more files than any disk can hold.
 */
export class CommitValidator {
  #partialRecord = ''
  /** The trees that are being listed, from the root; git lists each to its end before what follows it. */
  readonly #openTrees: { path: string; names: Set<string> }[] = [{ path: '', names: new Set() }]
  #entries = 0
  #bytes = 0

  /** @param text the next part of git's output. @throws BuildRefusal */
  take(text: string): void {
    const records = (this.#partialRecord + text).split('\0')
    this.#partialRecord = records.pop() ?? ''
    for (const record of records) this.#checkRecord(record)
  }

  #checkRecord(record: string): void {
    const [, type, size = '-', path = ''] = ENTRY.exec(record) ?? []
    this.#entries += 1
    this.#bytes += size === '-' ? 0 : Number(size)
    const { entries, bytes } = COMMIT_LIMITS
    if (this.#entries > entries) throw refused(`The commit contains more than ${entries} files and folders.`)
    if (this.#bytes > bytes) throw refused(`The files of the commit are longer than ${bytes} bytes.`)
    const segments = path.split('/')
    if (segments.some((segment) => ['', '.', '..'].includes(segment) || segment.toLowerCase() === '.git'))
      throw refused(`The commit contains ${quotedPath(path)}, a path that leads out of it or belongs to git.`)
    this.#addPath(segments, type === 'tree')
    const isLong = Buffer.byteLength(path) > MAX_PATH_BYTES || segments.length > MAX_PATH_DEPTH
    if (isLong || segments.some((segment) => Buffer.byteLength(segment) > MAX_NAME_BYTES))
      throw refused(`The commit contains ${quotedPath(path)}, a path that is too deep or too long.`)
  }

  /** Refuses repeated paths: a link and a folder of one name would redirect what is written into the folder. */
  #addPath(segments: readonly string[], isTree: boolean): void {
    const [above, name] = [segments.slice(0, -1).join('/'), segments.at(-1) ?? '']
    const path = segments.join('/')
    while (this.#openTrees.length > 1 && this.#openTrees.at(-1)?.path !== above) this.#openTrees.pop()
    const names = this.#openTrees.at(-1)?.names
    if (names?.has(name)) throw refused(`The commit contains ${quotedPath(path)} twice.`)
    names?.add(name)
    if (isTree) this.#openTrees.push({ path, names: new Set() })
  }
}

const refused = (message: string) => new BuildRefusal('SourceRefused', message)
