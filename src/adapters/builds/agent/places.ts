import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILD_ENTRIES, BUILD_FOLDERS, type BuildOrder } from '../../../contracts/builds/pod.ts'

/** Where the parts of a build find and leave things. Each part has the order, and its own entries of the Secret only. */
const { secrets, work } = BUILD_FOLDERS

export const PLACES = {
  source: join(work, 'source'),
  /** The Dockerfile that we wrote, and what it takes from beside it. */
  recipe: join(work, 'recipe'),
  /** JSON of Hand: what the first part leaves to the second. */
  hand: join(work, 'hand.json'),
  /** OCI layouts that the second leaves to the third. */
  image: join(work, 'image'),
  cache: join(work, 'cache'),
} as const

export type Hand = {
  /** The folder that is built. */
  readonly context: string
  /** Folder and name of the Dockerfile. */
  readonly dockerfile: { readonly folder: string; readonly name: string }
  readonly server: boolean
}

export const entryAt = (name: keyof typeof BUILD_ENTRIES) => join(secrets, BUILD_ENTRIES[name])
export const hasEntry = (name: keyof typeof BUILD_ENTRIES) => existsSync(entryAt(name))

export const readOrder = () => JSON.parse(readFileSync(entryAt('order'), 'utf8')) as BuildOrder
