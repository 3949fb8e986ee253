import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILD_MOUNT_PATHS, BUILD_SECRET_KEYS, type BuildTask } from '../../../contracts/builds/pod.ts'

const { secrets, work } = BUILD_MOUNT_PATHS

/** The paths that the parts of a build share. Each part sees the order, but only its own entries of the Secret. */
export type BuildPaths = ReturnType<typeof buildPathsUnder>

/** @param root `/` in a pod */
export function buildPathsUnder(root: string) {
  const entryAt = (name: keyof typeof BUILD_SECRET_KEYS) => join(root, secrets, BUILD_SECRET_KEYS[name])
  return {
    source: join(root, work, 'source'),
    /** The generated Dockerfile and the files that it copies. */
    recipe: join(root, work, 'recipe'),
    /** A Hand as JSON: what the first part leaves for the second. */
    hand: join(root, work, 'hand.json'),
    /** OCI layouts that the second part leaves for the third. */
    image: join(root, work, 'image'),
    cache: join(root, work, 'cache'),
    /** The kubelet reads the termination message from here. */
    lastWord: join(root, 'dev/termination-log'),
    temporary: join(root, 'tmp'),
    entryAt,
    hasEntry: (name: keyof typeof BUILD_SECRET_KEYS) => existsSync(entryAt(name)),
    readOrder: () => JSON.parse(readFileSync(entryAt('order'), 'utf8')) as BuildTask,
  }
}

export type PreparedBuild = {
  /** The build context. */
  readonly context: string
  readonly dockerfile: { readonly folder: string; readonly name: string }
  readonly server: boolean
}
