/** An uploaded source that must be refused. */
export type HostileArchive = {
  readonly sentence: string
  readonly bytes: () => Buffer | Iterable<Buffer>
  readonly says: RegExp
  /** Avoids writing archives just below the limit to disk. */
  readonly isOnlyJudged?: boolean
}
