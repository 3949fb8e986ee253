import type { FileRefusal } from '../../../contracts/files.ts'
import { inverted } from '../../../core/inverted.ts'

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

const REASONS = inverted<FileRefusal>({
  NotFound: 'ENOENT ENOTDIR',
  AlreadyExists: 'EEXIST',
  IsDirectory: 'EISDIR',
  NotEmpty: 'ENOTEMPTY',
  Full: 'ENOSPC EDQUOT EFBIG',
  ReadOnly: 'EROFS',
  Denied: 'EACCES EPERM',
  OtherVolume: 'EXDEV',
  // As many as are open lie in each other.
  TooDeep: 'EMFILE',
  NotAllowed: 'ELOOP EINVAL ENAMETOOLONG ENXIO EBUSY',
})

/** The refusal that an error of a file operation means; undefined for a defect. */
export function refusalOf(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? '']
  return reason === undefined ? undefined : new Refused(reason)
}

export const hasCode = (error: unknown, ...codes: string[]) =>
  codes.includes((error as NodeJS.ErrnoException).code ?? '')
