import { ReasonedError } from '../../core/failure.ts'

export type GitPlace = {
  /** Address of the repository, https. */
  readonly url: string
  /** A branch or a tag; a full name such as `refs/heads/main` is one too. */
  readonly ref: string
  /** A folder below the root, such as `/` or `/blueprints`. */
  readonly path: string
  /** Value of the Authorization header; absent for a public repository. */
  readonly authorization?: string | undefined
}

export type GitFile = {
  /** Below the folder that was asked for. */
  readonly path: string
  /** Undefined for a file that is too large, or not text. */
  readonly text: string | undefined
}

export type GitFilesFound = {
  /** Hash of the commit. */
  readonly revision: string
  /** YAML and JSON in the folder and below, by path; undefined if the commit is the one that is known. */
  readonly files: readonly GitFile[] | undefined
}

/**
 * Bytes of a file, files of a folder and bytes of all of them, folders below each other, entries of folders that are looked at.
 * What a host may answer is bounded where it is called.
 */
export const GIT_LIMITS = { file: 262_144, files: 200, texts: 4 * 1024 * 1024, depth: 8, entries: 20_000 } as const

/** Reads the few texts that stand in a folder of a repository. No hook, submodule or link of it is followed. */
export interface GitFiles {
  /**
   * @param known the commit whose files are known already
   * @throws GitFilesError
   */
  read(place: GitPlace, known?: string, signal?: AbortSignal): Promise<GitFilesFound>
}

/**
 * - `NotAllowed`: the platform does not call that address;
 * - `NotFound`: there is no such repository for this credential, or no such branch, tag or folder;
 * - `TooLarge`: the repository, or the folder;
 * - `Unreachable`: no answer, or none of Git.
 */
export type GitFilesReason = 'NotAllowed' | 'NotFound' | 'TooLarge' | 'Unreachable'

/** The message is ours and may be shown: no text of the host is in it. */
export class GitFilesError extends ReasonedError<GitFilesReason> {}
