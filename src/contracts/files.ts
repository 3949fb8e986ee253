/** One thing in a folder of a volume. */
export type FileEntry = {
  name: string
  /** In the container, from its root. */
  path: string
  type: 'File' | 'Directory' | 'Link'
  sizeBytes: number
  /** RFC 3339. */
  modifiedAt: string
  /** Permissions in octal, such as `0644`. */
  mode: string
  /** Of a link, as it is written there. */
  linkTarget: string | null
}

/** What a Range header asks for: bytes from `first` on, up to `last` if it is there; or the last `suffix` bytes. */
export type ByteRange = { first: number; last?: number | undefined } | { suffix: number }

/** The operations on files; paths are those in the container. */
export type FileRequest =
  | { op: 'list'; path: string }
  | { op: 'download'; path: string; range?: ByteRange | undefined }
  /** A gzipped tar. */
  | { op: 'archive'; path: string }
  /** The bytes follow. `path` is the folder. */
  | { op: 'upload'; path: string; name: string; overwrite: boolean }
  | { op: 'makeDirectory'; path: string; parents: boolean }
  | { op: 'move'; from: string; to: string; overwrite: boolean }
  | { op: 'remove'; path: string; recursive: boolean }

export const FILE_REFUSALS = [
  /** Not a path inside the volumes, or something there that is neither file nor folder. */
  'NotAllowed',
  'NotFound',
  'AlreadyExists',
  'IsDirectory',
  'NotEmpty',
  'Full',
  'ReadOnly',
  /** Owner or mode of the file do not permit it. */
  'Denied',
  /** From one volume into another. */
  'OtherVolume',
  /** Folders lie in each other so deep that no archive can be made. */
  'TooDeep',
  /** No byte of the range exists. */
  'NotSatisfiable',
  /** The bytes of an upload ended early. */
  'Incomplete',
] as const
export type FileRefusal = (typeof FILE_REFUSALS)[number]

export type FileAnswer =
  | { refused: FileRefusal; sizeBytes?: number }
  | { entries: FileEntry[]; truncated: boolean }
  /** The bytes from `first` to `last` follow; of an empty file, `last` is -1. */
  | { file: FileEntry; first: number; last: number }
  /** The archive follows. */
  | { archive: string }
  /** `isNew`: nothing was there before. */
  | { entry: FileEntry; isNew: boolean }
  | { removed: true }

/** A volume of a container: where it is mounted there, and in the folder where its files are read and changed. */
export type VolumeFolder = { path: string; folder: string }

/** More entries of a folder are not listed. */
export const MOST_ENTRIES = 5_000
/** Bytes of an answer, without the content of files. Of a folder whose entries take more, not all are listed. */
export const MOST_OF_AN_ANSWER = 8 * 1024 * 1024

const LONGEST_PATH = 4_096
const LONGEST_NAME = 255

/** The parts of a path from the root; undefined for one that is not allowed: not absolute, with `..` or NUL, or too long. */
export function pathSegments(path: string): string[] | undefined {
  if (!path.startsWith('/') || Buffer.byteLength(path) > LONGEST_PATH) return undefined
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  return segments.every((segment) => segment !== '..' && isFileSegment(segment)) ? segments : undefined
}

/** Whether a file may be named so. */
export function isFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/') && isFileSegment(name)
}

/**
 * Whether a request can be about files of volumes that are mounted there, as far as its paths tell. What lies at them is
 * judged where the volumes are.
 */
export function isAboutVolumes(request: FileRequest, mounts: readonly string[]): boolean {
  const all = mounts.flatMap((mount) => [pathSegments(mount) ?? []])
  const leads = (path: string, isRead = false) => {
    const segments = pathSegments(path)
    const begins = (longer: readonly string[], shorter: readonly string[]) =>
      shorter.every((segment, at) => longer[at] === segment)
    // The folders above a mount can be read: they lead to it.
    return segments !== undefined && all.some((one) => begins(segments, one) || (isRead && begins(one, segments)))
  }
  if (request.op === 'move') return leads(request.from) && leads(request.to)
  if (request.op === 'upload') return leads(request.path) && isFileName(request.name)
  return leads(request.path, request.op === 'list' || request.op === 'download' || request.op === 'archive')
}

function isFileSegment(segment: string): boolean {
  // A name that is no Unicode would be written as another one.
  return !segment.includes('\0') && segment.isWellFormed() && Buffer.byteLength(segment) <= LONGEST_NAME
}

export const joinPath = (segments: readonly string[]) => `/${segments.join('/')}`
