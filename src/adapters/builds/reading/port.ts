/** What an archive was, once all of it came in and nothing in it is refused. */
export type ArchiveRead = {
  /** `sha256:...` of its bytes as they came. */
  readonly digest: string
  readonly files: number
}

export interface ReadingArchive {
  /**
   * Takes the next piece, a copy of it.
   *
   * @returns what to wait for before the next one; undefined if there is room
   * @throws Error once it was refused
   */
  take(piece: Uint8Array): Promise<void> | undefined
  /** There is no more. */
  end(): void
  /** Nobody waits for it any more. Does nothing once it was read or refused. */
  cut(): void
  /** @throws ArchiveRefused for what is in it, as soon as it is seen; ReaderGone */
  readonly read: Promise<ArchiveRead>
}

/** Reads archives beside the thread that answers everybody, many at once. */
export interface ArchiveReader {
  /** @param who of whom few are read at once: others have their turn however many somebody sends */
  begin(who: string): Promise<ReadingArchive>
}

/** What read it has ended: the same again may be read. */
export class ReaderGone extends Error {}
