import { isTemplatePath, type RepositoryFiles, withinRoom } from '../../contracts/blueprints/repository.ts'
import { SourceError } from '../sources/port.ts'
import type { FilesPlace, GitFiles } from './port.ts'

export type FakeRepository = {
  /** By branch or tag. */
  readonly refs: Map<string, { revision: string; files: ReadonlyMap<string, string | Uint8Array> }>
  /** Who has it reads it; everybody if absent. */
  token?: string
}

/** Repositories in memory, by address. */
export class FakeGitFiles implements GitFiles {
  readonly repositories = new Map<string, FakeRepository>()
  isAway = false
  reads = 0

  /** Replaces what a branch holds. */
  push(url: string, revision: string, files: Readonly<Record<string, string | Uint8Array>>, ref = 'main'): void {
    const found = this.repositories.get(url) ?? { refs: new Map() }
    found.refs.set(ref, { revision, files: new Map(Object.entries(files)) })
    this.repositories.set(url, found)
  }

  async read({ url, ref, folder, credentials }: FilesPlace): Promise<RepositoryFiles> {
    this.reads += 1
    if (this.isAway) throw new SourceError('Unreachable', 'git.example.com does not answer over TLS in time.')
    const found = this.repositories.get(url)
    if (found === undefined) throw new SourceError('NotFound', 'git.example.com does not know this.')
    if (found.token !== undefined && found.token !== credentials?.token)
      throw new SourceError('CredentialRejected', 'git.example.com does not accept the credentials (status 401).')
    const head = found.refs.get(ref)
    if (head === undefined) throw new SourceError('NotFound', `The repository has no branch and no tag "${ref}".`)
    const start = folder === '' ? '' : `${folder}/`
    const below = [...head.files].filter(([path]) => path.startsWith(start))
    if (below.length === 0 && folder !== '')
      throw new SourceError('NotFound', `The repository has no folder "${folder}" at "${ref}".`)
    const wanted = below.filter(([path]) => isTemplatePath(path.slice(start.length)))
    return withinRoom(
      head.revision,
      wanted.map(([path, content]) => ({ path, bytes: Buffer.from(content as string) })),
    )
  }
}
