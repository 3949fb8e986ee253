/** What a catalogue is read of: files of templates below a folder of a Git repository. */

/** Templates of one source; further files of it stand among what is not valid. */
export const TEMPLATES_OF_A_SOURCE = 50
/** Bytes of one template, as everywhere. */
export const TEMPLATE_BYTES = 262_144
/** Bytes of all templates of one source: each of them is read and parsed at every look. */
export const SOURCE_BYTES = 2 * 1024 * 1024

/** One file, as the repository has it. */
export type RepositoryFile = {
  /** From the top of the repository, without a slash at its beginning. */
  readonly path: string
  readonly content: string
}

/** A file that is not read, and why. */
export type UnreadFile = { readonly path: string; readonly why: string }

export type RepositoryFiles = {
  /** The commit that they are of. */
  readonly revision: string
  /** By path. */
  readonly files: readonly RepositoryFile[]
  readonly unread: readonly UnreadFile[]
}

/** Whether a file may hold a template, by its path below the folder that is read. Hidden folders hold what other tools read. */
export function isTemplatePath(path: string): boolean {
  return /\.(ya?ml|json)$/.test(path) && !path.split('/').some((part) => part.startsWith('.'))
}

/** What is read of the files of a folder, as far as there is room: by path, so that it is the same each time. */
export function withinRoom(revision: string, found: readonly { path: string; bytes: Uint8Array }[]): RepositoryFiles {
  const files: RepositoryFile[] = []
  const unread: UnreadFile[] = []
  let room = SOURCE_BYTES
  for (const { path, bytes } of found.toSorted(byPath)) {
    const why = refusalOf(bytes.length, files.length, room)
    const content = why === undefined ? textOf(bytes) : undefined
    if (content === undefined) {
      unread.push({ path, why: why ?? 'is not text in UTF-8' })
      continue
    }
    files.push({ path, content })
    room -= bytes.length
  }
  return { revision, files, unread }
}

function refusalOf(size: number, count: number, room: number): string | undefined {
  if (size > TEMPLATE_BYTES) return `has more than ${TEMPLATE_BYTES} bytes`
  if (size === 0) return 'is empty'
  if (count >= TEMPLATES_OF_A_SOURCE)
    return `is one more than the ${TEMPLATES_OF_A_SOURCE} files that a source may have`
  return size > room ? `does not fit: the files of a source may have ${SOURCE_BYTES} bytes together` : undefined
}

export const byPath = (one: { path: string }, other: { path: string }) =>
  one.path < other.path ? -1 : Number(one.path > other.path)

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
