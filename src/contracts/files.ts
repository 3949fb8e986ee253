/** An entry of a folder of a volume. */
export type FileEntry = {
  name: string
  /** Absolute path in the container. */
  path: string
  type: 'File' | 'Directory' | 'Link'
  sizeBytes: number
  /** RFC 3339. */
  modifiedAt: string
  /** Permissions in octal, such as `0644`. */
  mode: string
  /** Target of a link, as written. */
  linkTarget: string | null
}

/** A Range header: bytes from `first` on, up to `last` if given; or the last `suffix` bytes. */
export type ByteRange = { first: number; last?: number | undefined } | { suffix: number }

/** The operations on files; paths are those in the container. */
export type FileRequest =
  | { op: 'list'; path: string }
  | { op: 'download'; path: string; range?: ByteRange | undefined }
  /** Answers with a gzipped tar. */
  | { op: 'archive'; path: string }
  /** The bytes follow the request. `path` is the folder. */
  | { op: 'upload'; path: string; name: string; overwrite: boolean }
  | { op: 'makeDirectory'; path: string; parents: boolean }
  | { op: 'move'; from: string; to: string; overwrite: boolean }
  | { op: 'remove'; path: string; recursive: boolean }

export const FILE_REFUSALS = [
  /** The path is outside the volumes, or names something that is neither file nor folder. */
  'NotAllowed',
  'NotFound',
  'AlreadyExists',
  'IsDirectory',
  'NotEmpty',
  'Full',
  'ReadOnly',
  /** Owner or mode of the file forbid it. */
  'Denied',
  /** A move from one volume into another. */
  'OtherVolume',
  /** Folders are nested too deep for an archive. */
  'TooDeep',
  /** The file has no byte of the range. */
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
  /** `isNew`: nothing existed there before. */
  | { entry: FileEntry; isNew: boolean }
  | { removed: true }

/** A volume of a container: its mount path there, and the folder in which its files are read and changed. */
export type VolumeFolder = { path: string; folder: string }

/** Maximum entries that are listed of a folder. */
export const LISTED_ENTRIES_MAX = 5_000
/** Maximum bytes of an answer, without the content of files; longer listings are truncated. */
export const MAX_FILE_ANSWER_BYTES = 8 * 1024 * 1024

const MAX_PATH_BYTES = 4_096
const MAX_NAME_BYTES = 255

/** Returns the segments of a path; undefined if it is not allowed: not absolute, with `..` or NUL, or too long. */
export function pathSegments(path: string): string[] | undefined {
  if (!path.startsWith('/') || Buffer.byteLength(path) > MAX_PATH_BYTES) return undefined
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  return segments.every((segment) => segment !== '..' && isFileSegment(segment)) ? segments : undefined
}

/** Whether a file may have this name. */
export function isFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/') && isFileSegment(name)
}

/**
 * Whether a request can concern files of volumes that are mounted there, judged by its paths alone. What exists at them
 * is judged where the volumes are.
 */
export function mayConcernVolumes(request: FileRequest, mounts: readonly string[]): boolean {
  const all = mounts.flatMap((mount) => [pathSegments(mount) ?? []])
  const leads = (path: string, isRead = false) => {
    const segments = pathSegments(path)
    const begins = (longer: readonly string[], shorter: readonly string[]) =>
      shorter.every((segment, at) => longer[at] === segment)
    // The folders above a mount can be read, because they lead to it.
    return segments !== undefined && all.some((one) => begins(segments, one) || (isRead && begins(one, segments)))
  }
  if (request.op === 'move') return leads(request.from) && leads(request.to)
  if (request.op === 'upload') return leads(request.path) && isFileName(request.name)
  return leads(request.path, request.op === 'list' || request.op === 'download' || request.op === 'archive')
}

function isFileSegment(segment: string): boolean {
  // A name that is not well-formed Unicode would be written as a different one.
  return !segment.includes('\0') && segment.isWellFormed() && Buffer.byteLength(segment) <= MAX_NAME_BYTES
}

export const joinPath = (segments: readonly string[]) => `/${segments.join('/')}`
