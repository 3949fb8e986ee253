import type { FileRefusal } from '../../../contracts/files.ts'

/** A request that the files themselves, or where they are, do not permit. */
export class Refused extends Error {
  readonly reason: FileRefusal
  readonly sizeBytes: number | undefined

  constructor(reason: FileRefusal, sizeBytes?: number) {
    super(reason)
    this.reason = reason
    this.sizeBytes = sizeBytes
  }
}

const REASONS: Readonly<Record<string, FileRefusal>> = {
  ENOENT: 'NotFound',
  ENOTDIR: 'NotFound',
  EEXIST: 'AlreadyExists',
  EISDIR: 'IsDirectory',
  ENOTEMPTY: 'NotEmpty',
  ENOSPC: 'Full',
  EDQUOT: 'Full',
  EFBIG: 'Full',
  EROFS: 'ReadOnly',
  EACCES: 'Denied',
  EPERM: 'Denied',
  EXDEV: 'OtherVolume',
  ELOOP: 'NotAllowed',
  EINVAL: 'NotAllowed',
  ENAMETOOLONG: 'NotAllowed',
  ENXIO: 'NotAllowed',
  EBUSY: 'NotAllowed',
}

/** The refusal that an error of a file operation means; undefined for a defect. */
export function refusalOf(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? '']
  return reason === undefined ? undefined : new Refused(reason)
}

export const hasCode = (error: unknown, ...codes: string[]) =>
  codes.includes((error as NodeJS.ErrnoException).code ?? '')
