import { ReasonedError } from '../../core/failure.ts'

export type GitLocation = {
  /** Address of the repository, https. */
  readonly url: string
  /** A branch, a tag, or a full ref name such as `refs/heads/main`. */
  readonly ref: string
  /** A folder below the root, such as `/` or `/blueprints`. */
  readonly path: string
  /** Value of the Authorization header; absent for a public repository. */
  readonly authorization?: string | undefined
}

export type GitFile = {
  /** Path below the requested folder. */
  readonly path: string
  /** Undefined if the file is too large or not valid text. */
  readonly text: string | undefined
}

export type GitFilesFound = {
  /** Id of the commit. */
  readonly revision: string
  /** The YAML and JSON files in and below the folder, by path; undefined if the commit is the known one. */
  readonly files: readonly GitFile[] | undefined
}

/**
 * Limits: bytes of a file, number of files, bytes of all texts, folder depth, and tree entries that are read. The
 * caller of `fetch` bounds the size of answers.
 */
export const GIT_LIMITS = { file: 262_144, files: 200, texts: 4 * 1024 * 1024, depth: 8, entries: 20_000 } as const

/** Reads the YAML and JSON files of a repository folder. No hook, submodule or link is followed. */
export interface GitFiles {
  /**
   * @param known the commit that the caller has already read
   * @throws GitFilesError
   */
  read(place: GitLocation, known?: string): Promise<GitFilesFound>
}

/**
 * - `NotAllowed`: the platform does not call that address;
 * - `NotFound`: the repository does not exist for this credential, or has no such branch, tag or folder;
 * - `TooLarge`: the repository, or the folder;
 * - `Unreachable`: no answer, or not a valid one.
 */
export type GitFilesReason = 'NotAllowed' | 'NotFound' | 'TooLarge' | 'Unreachable'

/** The message is our own, without text from the host, and may be shown to users. */
export class GitFilesError extends ReasonedError<GitFilesReason> {}
