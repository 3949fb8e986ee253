import type { Readable } from 'node:stream'

export type StoredArchive = {
  /** `<repository>@sha256:...`. Kept for as long as an object of ours refers to it, otherwise for a week. */
  readonly reference: string
  /** `sha256:...` of the uploaded bytes. */
  readonly digest: string
  readonly sizeBytes: number
  readonly files: number
}

/** Keeps uploaded sources until they are built, in the registry beside the images that are built from them. */
export interface SourceArchives {
  /**
   * Validates a tar.gz while it streams in, and stores it if it is accepted. The same bytes get the same reference.
   *
   * @param options.who key that limits how many archives are read at once; by default the repository
   * @throws ArchiveRefusedError for the content or the length; RegistryError; ReaderGone
   */
  keep(
    repository: string,
    archive: Readable,
    options?: { signal?: AbortSignal | undefined; sender?: string | undefined },
  ): Promise<StoredArchive>
}
