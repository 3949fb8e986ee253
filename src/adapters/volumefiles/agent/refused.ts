import type { FileRefusal } from '../../../contracts/files.ts'
import { inverted } from '../../../core/inverted.ts'

/** A request that the state or the location of the files does not permit. */
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
  // Too many files are open, because each level of folders keeps one open.
  TooDeep: 'EMFILE',
  NotAllowed: 'ELOOP EINVAL ENAMETOOLONG ENXIO EBUSY',
})

/** Maps an error of a file operation to a refusal; undefined for a defect. */
export function refusalOf(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? '']
  return reason === undefined ? undefined : new Refused(reason)
}

export const hasCode = (error: unknown, ...codes: string[]) =>
  codes.includes((error as NodeJS.ErrnoException).code ?? '')
