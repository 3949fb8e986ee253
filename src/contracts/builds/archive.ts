import { foldFileName, namesObstacle } from '../fileNames.ts'
import { quotedPath } from './messageText.ts'

/** One entry of an uploaded archive, according to its header. */
export type ArchiveEntry = {
  readonly path: string
  readonly type: string | null | undefined
  readonly size: number
  /** Target of a link. */
  readonly target?: string | null | undefined
}

export type ArchiveLimits = {
  readonly files: number
  /** Bytes of one file, and of all files unpacked. */
  readonly fileBytes: number
  readonly bytes: number
}

export const ARCHIVE_LIMITS: ArchiveLimits = { files: 50_000, fileBytes: 256 * 1024 ** 2, bytes: 1024 ** 3 }

const MAX_PATH_CHARACTERS = 1_024
const MAX_PATH_DEPTH = 64

export type AdmittedEntry = { readonly kind: 'file' | 'folder' | 'link' | 'none'; readonly path: string }

/** Why an archive is not unpacked. */
export class ArchiveRefusedError extends Error {}

/**
 * Judges the entries of an archive in order, before any of them is written: admitted entries can be unpacked below a
 * folder, and none leads out of it. Links may point into the archive; nothing is written through a link.
 */
export class ArchiveValidator {
  readonly #limits: ArchiveLimits
  readonly #root: SeenEntry = { kind: 'folder', name: '' }
  #bytes = 0
  #entries = 0
  /** Includes folders that no entry names: they are created as well. */
  #places = 0

  constructor(limits: ArchiveLimits = ARCHIVE_LIMITS) {
    this.#limits = limits
  }

  /** @throws ArchiveRefusedError naming the entry */
  admit({ path: written, type, size, target }: ArchiveEntry): AdmittedEntry {
    const quoted = quotedPath(written)
    const segments = segmentsOf(written, quoted)
    const kind = kindOf(type, quoted)
    this.#entries = this.#countEntry(this.#entries)
    if (segments.length === 0) {
      if (kind !== 'folder') throw new ArchiveRefusedError(`${quoted} is not a file name.`)
      return { kind: 'none', path: '' }
    }
    this.#measure(kind, size, quoted)
    this.#addPath(kind, segments, quoted)
    if (kind === 'link') checkTarget(target ?? '', segments, quoted)
    return { kind, path: segments.join('/') }
  }

  #countEntry(before: number): number {
    if (before < this.#limits.files) return before + 1
    throw new ArchiveRefusedError(`It contains more than ${this.#limits.files} files and folders.`)
  }

  #measure(kind: AdmittedEntry['kind'], size: number, quoted: string): void {
    // A folder has no content; the content of a link is read as well.
    if (kind === 'folder') return
    if (!Number.isSafeInteger(size) || size < 0) throw new ArchiveRefusedError(`${quoted} has an invalid size.`)
    const { fileBytes, bytes } = this.#limits
    if (size > fileBytes)
      throw new ArchiveRefusedError(`${quoted} is longer than the ${fileBytes} bytes that one file may have.`)
    this.#bytes += size
    if (this.#bytes > bytes) throw new ArchiveRefusedError(`Unpacked it is longer than ${bytes} bytes.`)
  }

  #addPath(kind: Kind, segments: readonly string[], quoted: string): void {
    let above = this.#root
    for (const [at, name] of segments.entries()) {
      const isLast = at === segments.length - 1
      const found = above.below?.get(foldFileName(name))
      if (found === undefined) {
        this.#places = this.#countEntry(this.#places)
        const made: SeenEntry = { kind: isLast ? kind : 'folder', name }
        above.below ??= new Map()
        above.below.set(foldFileName(name), made)
        above = made
        continue
      }
      if (isLast && !(found.kind === 'folder' && kind === 'folder' && found.name === name))
        throw new ArchiveRefusedError(`${quoted} appears twice, or differs from another path only in letter case.`)
      if (found.kind !== 'folder') throw new ArchiveRefusedError(`${quoted} is below a path that is not a folder.`)
      if (found.name !== name)
        throw new ArchiveRefusedError(`${quoted} differs from another path only in letter case or Unicode form.`)
      above = found
    }
  }
}

type Kind = Exclude<AdmittedEntry['kind'], 'none'>
/** The keys of `below` are names as case-insensitive file systems compare them. */
type SeenEntry = { readonly kind: Kind; readonly name: string; below?: Map<string, SeenEntry> }

function segmentsOf(path: string, quoted: string): string[] {
  if (path.length > MAX_PATH_CHARACTERS)
    throw new ArchiveRefusedError(`${quoted} is a path longer than ${MAX_PATH_CHARACTERS} characters.`)
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path))
    throw new ArchiveRefusedError(`${quoted} is not a relative path.`)
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw new ArchiveRefusedError(`${quoted} leads out of the archive.`)
  const why = namesObstacle(segments)
  if (why !== undefined) throw new ArchiveRefusedError(`${quoted} ${why}.`)
  if (segments.length > MAX_PATH_DEPTH)
    throw new ArchiveRefusedError(`${quoted} is deeper than ${MAX_PATH_DEPTH} folders.`)
  return segments
}

function kindOf(type: string | null | undefined, quoted: string): Kind {
  switch (type) {
    case 'file':
    case 'contiguous-file':
      return 'file'
    case 'directory':
      return 'folder'
    case 'symlink':
      return 'link'
    default:
      throw new ArchiveRefusedError(`${quoted} is neither a file, nor a folder, nor a symbolic link.`)
  }
}

/**
 * A link may go up only at its beginning: its own folder is a real one, so `..` leads where it seems to. From there it
 * may only go down, where other links stay inside too.
 */
function checkTarget(target: string, segments: readonly string[], quoted: string): void {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const ups = parts.findIndex((part) => part !== '..')
  const leading = ups < 0 ? parts.length : ups
  const isInside = leading <= segments.length - 1 && !parts.slice(leading).includes('..')
  if (
    target === '' ||
    target.length > MAX_PATH_CHARACTERS ||
    target.startsWith('/') ||
    /\p{Cc}/u.test(target) ||
    !isInside
  ) {
    throw new ArchiveRefusedError(`The link ${quoted} leads out of the archive.`)
  }
}
