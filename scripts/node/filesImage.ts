import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ToolSearch } from '../controlplane/tool.ts'
import { REGISTRY } from './addresses.ts'
import { type Image, makeImage } from './image.ts'
import { unpackedPackages } from './packages.ts'
import { NODE_LIBRARIES } from './platformImage.ts'
import { sourcesOf } from './sources.ts'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const NAME = 'freehold-files:1'
/** The image of pods next to volumes on a node, where the platform itself runs in no pod (setting `filesImage`). */
export const FILES_IMAGE = `${REGISTRY}/${NAME}`

export const FILES_PROGRAM = 'src/adapters/volumefiles/agent/main.ts'
/** Packages that they import. */
const PACKAGES = ['tar-stream']

type Locked = Readonly<Record<string, { readonly version?: string; readonly dependencies?: Record<string, string> }>>

/**
 * The part of the platform's image that those pods run, rebuilt when it changes. @throws Error if Debian's packages are
 * unavailable
 */
export async function filesImage(search: ToolSearch): Promise<Image> {
  const sources = await sourcesOf(PROJECT, FILES_PROGRAM)
  const locked = JSON.parse(await readFile(join(PROJECT, 'package-lock.json'), 'utf8')).packages as Locked
  const packages = withDependencies(PACKAGES, locked)
  const key = createHash('sha256')
    .update(process.version)
    .update(JSON.stringify(packages.map((path) => locked[path])))
  for (const path of sources) key.update(path).update(await readFile(join(PROJECT, path)))
  const base = await unpackedPackages(NODE_LIBRARIES, search)
  const installed = dirname(await realpath(join(PROJECT, 'node_modules')))
  const layers = [
    base,
    { from: dirname(process.execPath), paths: ['node'], to: 'usr/bin' },
    { from: installed, paths: packages, to: 'app' },
    { from: PROJECT, paths: ['package.json', ...sources], to: 'app' },
  ]
  const config = { Env: ['PATH=/usr/bin:/bin'], WorkingDir: '/app', User: '65532:65532' }
  return makeImage({ name: NAME, layers, config, key: key.digest('hex') })
}

/** Folders of the packages and their dependencies. */
export function withDependencies(names: readonly string[], locked: Locked): string[] {
  const found = new Set<string>()
  const add = (name: string) => {
    const path = `node_modules/${name}`
    if (found.has(path) || locked[path] === undefined) return
    found.add(path)
    for (const dependency of Object.keys(locked[path].dependencies ?? {})) add(dependency)
  }
  for (const name of names) add(name)
  return [...found].sort()
}
