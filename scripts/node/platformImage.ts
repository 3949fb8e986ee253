import { readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUNDLE, bundle } from '../bundle.ts'
import type { ToolSearch } from '../controlplane/tool.ts'
import { lastStageOf } from './containerfile.ts'
import { type Image, makeImage } from './image.ts'
import { type PackageRequest, unpackedPackages } from './packages.ts'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
/** What Node needs of the base image. */
export const NODE_LIBRARIES: PackageRequest = {
  name: 'nodejs',
  packages: ['libc6', 'libstdc++6', 'base-files'],
  dependencies: 'all',
}
/** The npm package that holds Node for this machine, and what installs it: the image has Node beside the packages. */
const NODE_PACKAGES = /^node_modules\/node(-bin-setup|-linux-.*)?$/

/** Entries of package-lock.json; `npm ci --omit=dev` leaves out `dev` and `devOptional`. */
export type LockedPackages = Readonly<Record<string, { readonly dev?: boolean; readonly devOptional?: boolean }>>

/** Folders that `npm ci --omit=dev` creates, except nested ones. */
export function productionPackages(locked: LockedPackages): string[] {
  const isWanted = (path: string) =>
    path !== '' && !NODE_PACKAGES.test(path) && path.split('node_modules/').length === 2
  return Object.entries(locked)
    .filter(([path, { dev, devOptional }]) => isWanted(path) && dev !== true && devOptional !== true)
    .map(([path]) => path)
}

/**
 * The image that the Containerfile describes, of the packages that are installed here and on Debian's libraries, without a
 * container daemon. Made anew each time.
 *
 * @param root the tree whose image it is; this one
 */
export async function platformImage(name: string, search: ToolSearch, root = PROJECT): Promise<Image> {
  const { copied, config } = lastStageOf(await readFile(join(root, 'Containerfile'), 'utf8'))
  const [node = '', to = ''] = [config.Entrypoint?.[0], config.WorkingDir?.slice(1)]
  // The context may contain only what is copied. A tree of another version may have no such file.
  const ignored = (await readFile(join(PROJECT, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !/^[*!#]/.test(line))
    .map((line) => line.replace('**/', '*'))
  const locked = JSON.parse(await readFile(join(PROJECT, 'package-lock.json'), 'utf8')).packages as LockedPackages
  if (copied.includes(BUNDLE)) await bundle(root)
  const base = await unpackedPackages(NODE_LIBRARIES, search)
  const installed = dirname(await realpath(join(PROJECT, 'node_modules')))
  const layers = [
    base,
    { from: dirname(process.execPath), paths: ['node'], to: dirname(node).slice(1) },
    ...(copied.includes('node_modules') ? [{ from: installed, paths: productionPackages(locked), to }] : []),
    { from: root, paths: copied.filter((path) => path !== 'node_modules'), to, without: ignored },
  ]
  return makeImage({ name, layers, config })
}
