/** The result of reading a complete, accepted archive. */
export type ArchiveSummary = {
  /** `sha256:...` of the bytes as received. */
  readonly digest: string
  readonly files: number
}

export interface ArchiveSink {
  /**
   * Takes the next piece, and copies it.
   *
   * @returns a promise to wait for before the next piece; undefined if there is room
   * @throws Error after a refusal
   */
  take(piece: Uint8Array): Promise<void> | undefined
  /** Marks the end of the archive. */
  end(): void
  /** Cancels reading. No effect once the archive was read or refused. */
  cut(): void
  /** @throws ArchiveRefusedError as soon as refused content is seen; ReaderGone */
  readonly read: Promise<ArchiveSummary>
}

/** Reads many archives at once, off the main thread. */
export interface ArchiveReader {
  /** @param sender key whose archives are limited, so that one sender cannot hold up the others */
  begin(sender: string, signal?: AbortSignal): Promise<ArchiveSink>
}

/** The thread died while reading: the caller may retry. */
export class ReaderGone extends Error {}
