import { compareTexts } from '../../core/textOrder.ts'
import { type GitFile, type GitFiles, GitFilesError, type GitFilesFound, type GitLocation } from './port.ts'

/** Repositories in memory, by address and ref. */
export class FakeGitFiles implements GitFiles {
  readonly repositories = new Map<string, { revision: string; files: GitFile[] }>()
  /** If set, every read fails with it. */
  failure: GitFilesError | undefined

  commit(url: string, ref: string, revision: string, texts: Readonly<Record<string, string>>): void {
    const files = Object.entries(texts).map(([path, text]) => ({ path, text }))
    this.repositories.set(`${url} ${ref}`, { revision, files })
  }

  async read({ url, ref, path }: GitLocation, known?: string): Promise<GitFilesFound> {
    if (this.failure !== undefined) throw this.failure
    const found = this.repositories.get(`${url} ${ref}`)
    if (found === undefined) throw new GitFilesError('NotFound', `The repository has no branch or tag "${ref}".`)
    const { revision } = found
    if (revision === known) return { revision, files: undefined }
    const folder = path.replace(/^\/+|\/+$/g, '')
    const prefix = folder === '' ? '' : `${folder}/`
    const files = found.files
      .filter((file) => file.path.startsWith(prefix))
      .map((file) => ({ ...file, path: file.path.slice(prefix.length) }))
      .sort((one, other) => compareTexts(one.path, other.path))
    if (files.length === 0 && prefix !== '')
      throw new GitFilesError('NotFound', `The repository has no folder "${path}".`)
    return { revision, files }
  }
}
