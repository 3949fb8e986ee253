import type { Readable } from 'node:stream'

export type StoredArchive = {
  /** What a build is given: `<repository>@sha256:...`. It is kept for as long as an object of ours names it, else for a week. */
  readonly reference: string
  /** `sha256:...` of the bytes as they were uploaded. */
  readonly digest: string
  readonly sizeBytes: number
  readonly files: number
}

/** Keeps uploaded sources until they are built: in the registry, beside the images that are made of them. */
export interface SourceArchives {
  /**
   * Judges a tar.gz while it comes in and keeps it if nothing in it is refused. The same bytes have the same reference.
   *
   * @param options.who of whom few are read at once; of the repository where nobody sends them
   * @throws ArchiveRefused for what is in it, or its length; RegistryError; ReaderGone
   */
  keep(
    repository: string,
    archive: Readable,
    options?: { signal?: AbortSignal | undefined; who?: string | undefined },
  ): Promise<StoredArchive>
}
