import { createHash } from 'node:crypto'
import { existsSync, globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY_MS } from '../../src/core/clock.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { buildInto } from '../controlplane/build.ts'
import { cachedAt } from '../controlplane/cache.ts'
import { type Progress, silentProgress, startControlPlane } from '../controlplane/index.ts'
import { readToolLock } from '../controlplane/modules.ts'
import { crdManifests, SERVED_WITHIN } from '../platform/manifests.ts'
import { administrator } from '../platform.ts'

const root = join(import.meta.dirname, '../..')
/** The part of a data folder with the stored objects, and with the key of the encrypted ones. */
const SEED_FILES = ['etcd', 'pki/secrets-at-rest.key']
/** Milliseconds since its last use. */
const SEED_TTL_MS = DAY_MS

type SeedOptions = { progress?: Progress; signal?: AbortSignal | undefined }

/**
 * Copies a store that already contains our CRDs into a new data folder: storing them takes the API server more
 * processor time than the rest of its start. The installation of a platform then finds them, and writes only
 * differences. Tests of the installation itself start with an empty folder.
 *
 * Policies are left out: an API server that starts with them looks for the types of their parameters before it serves
 * our CRDs, and refuses the affected requests until it looks again half a minute later.
 *
 * The store is created if there is none for exactly these CRDs and programs, and kept beside the programs.
 */
export async function seedStore(
  folder: string,
  { progress = silentProgress, signal }: SeedOptions = {},
): Promise<void> {
  const place = join(cachedAt('seeds'), await keyOfSeed())
  const seed = join(place, 'folder')
  if (!existsSync(seed))
    await buildInto({ folder: place, module: 'seeds', progress, signal }, async (temporary) => {
      // Another process may have created it meanwhile.
      if (existsSync(seed)) return
      await progress.step('a store with all definitions', () => makeSeed(temporary, signal))
      await rename(temporary, seed)
      await removeOldSeeds()
    })
  const now = new Date()
  await utimes(place, now, now)
  await cp(seed, folder, { recursive: true })
}

/** A digest of everything that determines the store; a store with another digest would only have more to write. */
async function keyOfSeed(): Promise<string> {
  const { cacheKey } = await readToolLock(join(root, 'tools'))
  const files = globSync('deploy/{crds,played,stages}/*.yaml', { cwd: root }).sort()
  const hash = createHash('sha256').update(`${cacheKey} ${process.env.KUBEBUILDER_ASSETS ?? ''}\n`)
  for (const file of files) {
    const text = await readFile(join(root, file), 'utf8')
    hash.update(`${file} ${text.length}\n`).update(text)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Without nodes, whose number differs between users of the store. */
async function makeSeed(seed: string, signal: AbortSignal | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'freehold-seed-'))
  try {
    const controlPlane = await startControlPlane({ folder, durable: false, nodes: 0, ...(signal && { signal }) })
    const admin = administrator(controlPlane)
    try {
      await installManifests(admin, crdManifests(), { timeout: SERVED_WITHIN, ...(signal && { signal }) })
    } finally {
      await admin.close()
      await controlPlane.stop()
    }
    await mkdir(join(seed, 'pki'), { mode: 0o700 })
    for (const part of SEED_FILES) await cp(join(folder, part), join(seed, part), { recursive: true })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Each change of a CRD creates another store. Beside them are temporary locks. */
async function removeOldSeeds(): Promise<void> {
  const seeds = cachedAt('seeds')
  for (const name of (await readdir(seeds)).filter((name) => !name.startsWith('.'))) {
    const { mtimeMs } = await stat(join(seeds, name))
    if (Date.now() - mtimeMs > SEED_TTL_MS) await rm(join(seeds, name), { recursive: true, force: true })
  }
}
