import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILD_ENTRIES, BUILD_FOLDERS, type BuildOrder } from '../../../contracts/builds/pod.ts'

const { secrets, work } = BUILD_FOLDERS

/** Where the parts of a build find and leave things. Each part has the order, and its own entries of the Secret only. */
export type Places = ReturnType<typeof placesBelow>

/** @param root `/` in a pod */
export function placesBelow(root: string) {
  const entryAt = (name: keyof typeof BUILD_ENTRIES) => join(root, secrets, BUILD_ENTRIES[name])
  return {
    source: join(root, work, 'source'),
    /** The Dockerfile that we wrote, and what it takes from beside it. */
    recipe: join(root, work, 'recipe'),
    /** JSON of Hand: what the first part leaves to the second. */
    hand: join(root, work, 'hand.json'),
    /** OCI layouts that the second leaves to the third. */
    image: join(root, work, 'image'),
    cache: join(root, work, 'cache'),
    /** Where the kubelet reads what a container says at its end. */
    lastWord: join(root, 'dev/termination-log'),
    temporary: join(root, 'tmp'),
    entryAt,
    hasEntry: (name: keyof typeof BUILD_ENTRIES) => existsSync(entryAt(name)),
    readOrder: () => JSON.parse(readFileSync(entryAt('order'), 'utf8')) as BuildOrder,
  }
}

export type Hand = {
  /** The folder that is built. */
  readonly context: string
  readonly dockerfile: { readonly folder: string; readonly name: string }
  readonly server: boolean
}
