import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { planSweep, type SweepBlob, type SweepInventory } from '../../contracts/registry/sweep.ts'
import { type ImageRegistry, RegistryError } from './port.ts'

/**
 * What only the disk of a registry tells, where it is on this machine: manifests without tags, and data that nothing
 * needs. In the layout of the filesystem driver, which is the same since its first version: folders of a repository hold
 * links, and `blobs` what they point to.
 *
 * @see https://github.com/distribution/distribution/blob/main/registry/storage/paths.go
 */
export function registryDisk(root: string): Required<Pick<ImageRegistry, 'digests' | 'sweep'>> {
  const base = join(root, 'docker/registry/v2')
  const repositories = join(base, 'repositories')
  const blobs = join(base, 'blobs/sha256')
  const dataOf = (digest: string) => join(blobs, hexOf(digest).slice(0, 2), hexOf(digest), 'data')
  const layersOf = (name: string) => join(repositories, name, '_layers/sha256')

  const digests = async (name: string) => {
    const folder = join(repositories, name, '_manifests/revisions/sha256')
    // A manifest that was deleted leaves its folder, without the link.
    return (await filesIn(folder, 'link')).map(({ digest }) => digest)
  }
  async function manifest(name: string, digest: string): Promise<{ digest: string; references: string[] }> {
    const text = await readFile(dataOf(digest), 'utf8').catch((error: unknown) => {
      throw new RegistryError('Unreadable', `The manifest ${digest} of ${name} is linked but missing.`, error)
    })
    return { digest, references: digestsIn(text, `The manifest ${digest} of ${name} cannot be read.`) }
  }
  async function inventory(): Promise<SweepInventory> {
    const found = await Array.fromAsync(repositoriesIn(repositories), async (name) => ({
      name,
      manifests: await Array.fromAsync(await digests(name), (digest) => manifest(name, digest)),
      layers: await filesIn(layersOf(name), 'link'),
    }))
    const data = await Array.fromAsync(await namesIn(blobs), (start) => filesIn(join(blobs, start), 'data'))
    return { repositories: found, blobs: data.flat() }
  }
  return {
    digests,
    async sweep(bounds) {
      const plan = planSweep(await inventory(), bounds)
      // Links first: a repository must not say that it has what is gone.
      for (const { repository, digest } of plan.layers) await remove(join(layersOf(repository), hexOf(digest)))
      for (const digest of plan.blobs) await remove(join(dataOf(digest), '..'))
      return { freedBytes: plan.freedBytes }
    },
  }
}

/**
 * Every digest that a manifest names, wherever. The registry reads more forms than we do, from whoever may push: what one of
 * them needs is not removed for want of its form, nor does it keep what is nobody's.
 *
 * @throws RegistryError Unreadable for what is no JSON: nothing is removed by whoever does not understand what is needed
 */
function digestsIn(text: string, unreadable: string): string[] {
  try {
    const plain = JSON.stringify(JSON.parse(text))
    return [...new Set(plain.match(/sha256:[0-9a-f]{64}/g))]
  } catch (error) {
    throw new RegistryError('Unreadable', unreadable, error)
  }
}

const hexOf = (digest: string) => digest.slice('sha256:'.length)
const remove = (path: string) => rm(path, { recursive: true, force: true })

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The names of all repositories: folders that hold what no part of a name begins with. */
async function* repositoriesIn(root: string, name = ''): AsyncGenerator<string> {
  const names = await namesIn(join(root, name))
  if (names.some((part) => part.startsWith('_'))) yield name
  for (const part of names) if (!part.startsWith('_')) yield* repositoriesIn(root, join(name, part))
}

/** Files of that name in folders that are named after a digest. */
async function filesIn(folder: string, name: string): Promise<SweepBlob[]> {
  const files = await Promise.all(
    (await namesIn(folder)).map(async (hex) => {
      const found = await stat(join(folder, hex, name)).catch(() => undefined)
      return found === undefined ? [] : [{ digest: `sha256:${hex}`, changedAt: found.mtimeMs, sizeBytes: found.size }]
    }),
  )
  return files.flat()
}
