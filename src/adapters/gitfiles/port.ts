import type { RepositoryFiles } from '../../contracts/blueprints/repository.ts'

/** Where files are read: a folder of a repository at a branch, a tag or a commit. */
export type FilesPlace = {
  /** https; judged like every address that somebody named. */
  readonly url: string
  readonly ref: string
  /** Its top is ''. */
  readonly folder: string
  readonly credentials?: { readonly username: string; readonly token: string }
}

/**
 * Reads the files of templates in a Git repository, and nothing else of it: no history, no links, no submodules; nothing is
 * written, and no program of the repository runs.
 */
export interface GitFiles {
  /** @throws SourceError */
  read(place: FilesPlace, signal?: AbortSignal): Promise<RepositoryFiles>
}
