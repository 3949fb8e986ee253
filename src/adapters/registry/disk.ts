import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { planSweep, type SweepBlob, type SweepInventory } from '../../contracts/registry/sweep.ts'
import { mapConcurrently } from '../../core/mapConcurrently.ts'
import { unlessAbsent } from '../../core/unlessAbsent.ts'
import { type ImageRegistry, RegistryError } from './port.ts'

/**
 * Operations that need the registry's disk: listing manifests without tags, measuring and deleting data. Uses the layout
 * of the filesystem driver, unchanged since its first version: folders of repositories hold links, which point into
 * `blobs`.
 *
 * @see https://github.com/distribution/distribution/blob/main/registry/storage/paths.go
 */
export function registryDisk(root: string): Required<Pick<ImageRegistry, 'digests' | 'bytesOf' | 'sweep'>> {
  const base = join(root, 'docker/registry/v2')
  const repositories = join(base, 'repositories')
  const blobs = join(base, 'blobs/sha256')
  const dataOf = (digest: string) => join(blobs, hexOf(digest).slice(0, 2), hexOf(digest), 'data')
  const layersOf = (name: string) => join(repositories, name, '_layers/sha256')

  const digests = async (name: string) => {
    const folder = join(repositories, name, '_manifests/revisions/sha256')
    // Deleting a manifest leaves its folder, without the link.
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
    const data = (await Array.fromAsync(await namesIn(blobs), (start) => filesIn(join(blobs, start), 'data'))).flat()
    // The registry never deletes the folder of a repository.
    if (found.length === 0 && data.length > 0)
      throw new RegistryError('Unreadable', 'The folder of the registry has data but no repositories: is it mounted?')
    return { repositories: found, blobs: data }
  }
  return {
    digests,
    async bytesOf(folder) {
      const needed = new Set<string>()
      let bytes = 0
      for await (const name of repositoriesIn(repositories, folder)) {
        for (const hex of await namesIn(layersOf(name))) needed.add(`sha256:${hex}`)
        for (const digest of await digests(name)) needed.add(digest)
        const uploads = join(repositories, name, '_uploads')
        for (const upload of await namesIn(uploads)) bytes += await sizeOf(join(uploads, upload, 'data'))
      }
      const sizes = await mapConcurrently(FILES_AT_ONCE, [...needed], (digest) => sizeOf(dataOf(digest)))
      return sizes.reduce((sum, size) => sum + size, bytes)
    },
    async sweep(bounds) {
      const plan = planSweep(await inventory(), bounds)
      // Links first: a repository must not list a blob that is gone.
      for (const { repository, digest } of plan.layers) await remove(join(layersOf(repository), hexOf(digest)))
      for (const digest of plan.blobs) await remove(join(dataOf(digest), '..'))
      return { freedBytes: plan.freedBytes }
    },
  }
}

/**
 * Returns every digest in a manifest, wherever it occurs: the registry accepts more forms of manifests than we parse,
 * and blobs that such a form needs must be kept.
 *
 * @throws RegistryError Unreadable for invalid JSON: nothing may be deleted if it is unknown what is needed
 */
function digestsIn(text: string, unreadable: string): string[] {
  try {
    const plain = JSON.stringify(JSON.parse(text))
    return [...new Set(plain.match(/sha256:[0-9a-f]{64}/g))]
  } catch (error) {
    throw new RegistryError('Unreadable', unreadable, error)
  }
}

/** Half of the threads of Node that read files: the audit is written with the same ones. */
const FILES_AT_ONCE = 2
/** Returns 0 for what is gone: a sweep may be running, and uploads end. */
const sizeOf = async (path: string) => (await readable(stat(path), path))?.size ?? 0

const hexOf = (digest: string) => digest.slice('sha256:'.length)
const remove = (path: string) => rm(path, { recursive: true, force: true })

async function namesIn(folder: string): Promise<string[]> {
  return ((await readable(readdir(folder), folder)) ?? []).sort()
}

/** @throws RegistryError Unreadable: what a link refers to would be deleted if the link seemed absent */
async function readable<T>(reading: Promise<T>, path: string): Promise<T | undefined> {
  try {
    return await unlessAbsent(reading)
  } catch (error) {
    throw new RegistryError('Unreadable', `${path} cannot be read.`, error)
  }
}

/** Lists all repositories: a folder is one if it holds a folder that begins with `_`, which names cannot. */
async function* repositoriesIn(root: string, name = ''): AsyncGenerator<string> {
  const names = await namesIn(join(root, name))
  if (names.some((part) => part.startsWith('_'))) yield name
  for (const part of names) if (!part.startsWith('_')) yield* repositoriesIn(root, join(name, part))
}

/** Lists files of that name in folders that are named by digest. */
async function filesIn(folder: string, name: string): Promise<SweepBlob[]> {
  const files = await mapConcurrently(FILES_AT_ONCE, await namesIn(folder), async (hex) => {
    const path = join(folder, hex, name)
    const found = await readable(stat(path), path)
    return found === undefined ? [] : [{ digest: `sha256:${hex}`, changedAt: found.mtimeMs, sizeBytes: found.size }]
  })
  return files.flat()
}
