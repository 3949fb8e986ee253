/** One entry of an uploaded archive, as its header says it. */
export type ArchiveEntry = {
  readonly path: string
  readonly type: string | null | undefined
  readonly size: number
  /** Of a link. */
  readonly target?: string | null | undefined
}

export type ArchiveLimits = {
  readonly files: number
  /** Bytes of one file, and of all of them unpacked. */
  readonly fileBytes: number
  readonly bytes: number
}

export const ARCHIVE_LIMITS: ArchiveLimits = { files: 50_000, fileBytes: 256 * 1024 ** 2, bytes: 1024 ** 3 }

const LONGEST_PATH = 1_024
const LONGEST_NAME = 255
const DEEPEST = 64

export type Admitted = { readonly kind: 'file' | 'folder' | 'link' | 'none'; readonly path: string }

/** What an archive holds that is not unpacked. */
export class ArchiveRefused extends Error {}

/**
 * Judges the entries of an archive in their order, before anything of them is written: what is admitted can be unpacked
 * below a folder, and nothing of it leads out of there. Links may lead to what is in the archive; nothing is written through one.
 */
export class ArchiveJudge {
  readonly #limits: ArchiveLimits
  /** By spelling as file systems without regard to case take it. */
  readonly #seen = new Map<string, Admitted>()
  #bytes = 0
  #files = 0

  constructor(limits: ArchiveLimits = ARCHIVE_LIMITS) {
    this.#limits = limits
  }

  /** @throws ArchiveRefused naming the entry */
  admit({ path: written, type, size, target }: ArchiveEntry): Admitted {
    const shown = JSON.stringify(written.slice(0, 120))
    const segments = segmentsOf(written, shown)
    const kind = kindOf(type, shown)
    this.#files += 1
    if (this.#files > this.#limits.files) throw new ArchiveRefused(`It holds more than ${this.#limits.files} entries.`)
    if (kind === 'none' || segments.length === 0) return { kind: 'none', path: '' }
    this.#count(kind, size, shown)
    const admitted = { kind, path: segments.join('/') }
    this.#place(admitted, segments, shown)
    if (kind === 'link') checkTarget(target ?? '', segments, shown)
    return admitted
  }

  #count(kind: Admitted['kind'], size: number, shown: string): void {
    if (kind !== 'file') return
    if (!Number.isSafeInteger(size) || size < 0) throw new ArchiveRefused(`${shown} has an invalid size.`)
    const { fileBytes, bytes } = this.#limits
    if (size > fileBytes)
      throw new ArchiveRefused(`${shown} is longer than the ${fileBytes} bytes that one file may have.`)
    this.#bytes += size
    if (this.#bytes > bytes) throw new ArchiveRefused(`Unpacked it is longer than ${bytes} bytes.`)
  }

  #place(admitted: Admitted, segments: readonly string[], shown: string): void {
    for (let length = 1; length < segments.length; length += 1) {
      const above = { kind: 'folder' as const, path: segments.slice(0, length).join('/') }
      const found = this.#seen.get(key(above.path))
      if (found === undefined) this.#seen.set(key(above.path), above)
      else if (found.kind !== 'folder') throw new ArchiveRefused(`${shown} is below a path that is not a folder.`)
      else if (found.path !== above.path)
        throw new ArchiveRefused(`${shown} differs from another path only in letter case or Unicode form.`)
    }
    const found = this.#seen.get(key(admitted.path))
    const isAgain = found?.kind === 'folder' && admitted.kind === 'folder' && found.path === admitted.path
    if (found !== undefined && !isAgain)
      throw new ArchiveRefused(`${shown} appears twice, or differs from another path only in letter case.`)
    this.#seen.set(key(admitted.path), admitted)
  }
}

const key = (path: string) => path.normalize('NFC').toLowerCase()

function segmentsOf(path: string, shown: string): string[] {
  if (path.length > LONGEST_PATH)
    throw new ArchiveRefused(`${shown}... is a path longer than ${LONGEST_PATH} characters.`)
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) throw new ArchiveRefused(`${shown} is not a relative path.`)
  if (/[\p{Cc}\\]/u.test(path)) throw new ArchiveRefused(`${shown} holds a control character or a backslash.`)
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw new ArchiveRefused(`${shown} leads out of the archive.`)
  if (segments.some((segment) => Buffer.byteLength(segment) > LONGEST_NAME)) {
    throw new ArchiveRefused(`${shown} has a name longer than ${LONGEST_NAME} bytes.`)
  }
  if (segments.length > DEEPEST) throw new ArchiveRefused(`${shown} is deeper than ${DEEPEST} folders.`)
  return segments
}

function kindOf(type: string | null | undefined, shown: string): Admitted['kind'] {
  switch (type) {
    case 'file':
    case 'contiguous-file':
      return 'file'
    case 'directory':
      return 'folder'
    case 'symlink':
      return 'link'
    default:
      throw new ArchiveRefused(`${shown} is neither a file, nor a folder, nor a symbolic link.`)
  }
}

/**
 * A link goes up only at its beginning: its own folder is a real one, so that this leads where it seems to; and from there
 * down, where other links stay inside too.
 */
function checkTarget(target: string, segments: readonly string[], shown: string): void {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const ups = parts.findIndex((part) => part !== '..')
  const leading = ups < 0 ? parts.length : ups
  const isInside = leading <= segments.length - 1 && !parts.slice(leading).includes('..')
  if (target === '' || target.length > LONGEST_PATH || target.startsWith('/') || /\p{Cc}/u.test(target) || !isInside) {
    throw new ArchiveRefused(`The link ${shown} leads out of the archive.`)
  }
}
