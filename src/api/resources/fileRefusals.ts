import type { FileAnswer, FileRefusal } from '../../contracts/files.ts'
import { type ErrorCode, PlatformError } from '../../core/errors.ts'

type Refusal = { code: ErrorCode; messageOf: (path: string) => string; status?: number; feature?: string }

const REFUSALS: Readonly<Record<FileRefusal, Refusal>> = {
  NotAllowed: {
    code: 'PATH_NOT_ALLOWED',
    messageOf: (path) => `${path} is not a file or folder inside the persistent volumes.`,
  },
  NotFound: { code: 'NOT_FOUND', messageOf: (path) => `${path} does not exist.` },
  AlreadyExists: { code: 'ALREADY_EXISTS', messageOf: (path) => `The new name of ${path} already exists.` },
  IsDirectory: {
    code: 'BAD_REQUEST',
    messageOf: (path) => `${path} is a folder: list it, or download it as an archive.`,
  },
  NotEmpty: {
    code: 'DIRECTORY_NOT_EMPTY',
    messageOf: (path) => `${path} is not empty: set recursive to remove it with its content.`,
  },
  Full: { code: 'STORAGE_FULL', messageOf: () => 'The volume is full: remove something, or make it larger.' },
  ReadOnly: { code: 'PATH_NOT_ALLOWED', messageOf: (path) => `The volume of ${path} is mounted read-only.` },
  Denied: { code: 'PATH_NOT_ALLOWED', messageOf: (path) => `The owner or mode of ${path} does not permit this.` },
  OtherVolume: {
    code: 'FEATURE_UNSUPPORTED',
    feature: 'moveBetweenVolumes',
    messageOf: (path) => `${path} cannot be moved into another volume: download and upload it.`,
  },
  TooDeep: {
    code: 'PATH_NOT_ALLOWED',
    messageOf: (path) =>
      `Folders in ${path} lie too deep in each other for an archive: download those within, or move them up.`,
  },
  NotSatisfiable: { code: 'BAD_REQUEST', messageOf: (path) => `${path} has no bytes in this range.`, status: 416 },
  Incomplete: { code: 'BAD_REQUEST', messageOf: () => 'The body ended too early; nothing was written.' },
}

type Refused = Extract<FileAnswer, { refused: unknown }>

/** Returns the error of REST for a refusal by the program beside the volume. */
export function refusedFile({ refused, sizeBytes }: Refused, path: string) {
  const { code, messageOf, status, feature } = REFUSALS[refused]
  const shown = JSON.stringify(path)
  const extras = { ...(sizeBytes !== undefined && { sizeBytes }), ...(feature !== undefined && { feature }) }
  return new PlatformError(code, messageOf(shown), extras, status ? { status } : {})
}
