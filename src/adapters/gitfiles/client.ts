import { type RepositoryFiles, withinRoom } from '../../contracts/blueprints/repository.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { SourceError } from '../sources/port.ts'
import { type GitObjects, PackRefused, readPack } from './pack.ts'
import type { FilesPlace, GitFiles } from './port.ts'
import { GitServer } from './server.ts'
import { filesBelow, type TreeFile } from './tree.ts'

/** Milliseconds for everything together: whoever answers slowly keeps others waiting for their turn. */
const TIMEOUT = 30_000
/** Files that are fetched by their ids; the first ones by path. Beyond, they would not be read either. */
const FETCHED_FILES = 200

/**
 * Speaks version 2 of Git's protocol over https (gitprotocol-v2), through the calls that tenants' addresses are made with.
 * Of a server that can leave out files, the folders are fetched first, and then those files alone that may be templates.
 */
export function createGitFiles(fetch: OutgoingFetch): GitFiles {
  return {
    async read(place, signal) {
      const deadline = AbortSignal.timeout(TIMEOUT)
      const ended = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
      try {
        return await readFiles(new GitServer(fetch, place, ended), place)
      } catch (error) {
        if (!(error instanceof PackRefused)) throw error
        throw new SourceError('Unreachable', `The repository is not read: ${error.message}.`, { cause: error })
      }
    },
  }
}

async function readFiles(server: GitServer, { ref, folder }: FilesPlace): Promise<RepositoryFiles> {
  await server.greet()
  const revision = await server.commitOf(ref)
  const objects: GitObjects = new Map()
  await readPack(await server.fetch([revision], { isShallow: true }), objects)
  const found = filesBelow(objects, revision, folder)
  if (found === undefined) throw new SourceError('NotFound', `The repository has no folder "${folder}" at "${ref}".`)
  const wanted = found.slice(0, FETCHED_FILES)
  const missing = [...new Set(wanted.map(({ id }) => id))].filter((id) => !objects.has(id))
  if (missing.length > 0) await readPack(await server.fetch(missing, { isShallow: false }), objects)
  return withinRoom(
    revision,
    wanted.map((file) => ({ path: file.path, bytes: bytesOf(file, objects) })),
  )
}

function bytesOf({ id }: TreeFile, objects: GitObjects): Buffer {
  const found = objects.get(id)
  if (found?.type !== 'blob') throw new PackRefused('a file of it is missing')
  return found.data
}
