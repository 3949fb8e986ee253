/** An uploaded source that must fail. */
export type HostileArchive = {
  readonly sentence: string
  readonly bytes: () => Buffer | Iterable<Buffer>
  readonly says: RegExp
  /** Spares the disk what is just below the limit. */
  readonly isOnlyJudged?: boolean
}
