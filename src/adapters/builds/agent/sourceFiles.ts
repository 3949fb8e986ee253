import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { BuildRefusal, nothingToBuild, type SourceFiles } from '../../../contracts/builds/files.ts'
import { quotedPath } from '../../../contracts/builds/messageText.ts'

export const MAX_SOURCE_FILE_BYTES = 1024 ** 2
const MAX_PATHS = 20_000

/**
 * Resolves a folder of the source. Links may lead to it, but not out of the source.
 *
 * @param by the field of the recipe that names it
 * @throws BuildRefusal if it is missing, no folder, or outside of the source
 */
export function resolveSourceFolder(source: string, path: string, by: 'rootPath' | 'dockerfilePath'): string {
  let found: string
  try {
    found = realpathSync(join(source, path))
  } catch {
    throw nothingToBuild(`The source has no folder ${quotedPath(path)}: check ${by}.`)
  }
  const relativePath = relative(realpathSync(source), found)
  if (relativePath === '..' || relativePath.startsWith(`..${sep}`))
    throw new BuildRefusal('SourceRefused', `${by} leads out of the source.`)
  if (!lstatSync(found).isDirectory()) throw nothingToBuild(`${quotedPath(path)} is not a folder: check ${by}.`)
  return found
}

/** Lists a folder for runtime detection. Links are not followed: they may point at secrets of this container. */
export function listSourceFiles(folder: string): SourceFiles {
  const paths = new Set<string>()
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (paths.size > MAX_PATHS) break
    if (entry.isFile()) paths.add(entry.name)
    if (!entry.isDirectory()) continue
    paths.add(`${entry.name}/`)
    if (entry.name === 'node_modules' || entry.name === '.git') continue
    for (const below of readdirSync(join(folder, entry.name), { withFileTypes: true }).slice(0, MAX_PATHS)) {
      if (below.isFile() || below.isDirectory())
        paths.add(`${entry.name}/${below.name}${below.isDirectory() ? '/' : ''}`)
    }
  }
  return { paths, text: (path) => (paths.has(path) ? textOf(join(folder, path)) : undefined) }
}

function textOf(path: string): string | undefined {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const stats = fstatSync(file)
    return stats.isFile() && stats.size <= MAX_SOURCE_FILE_BYTES ? readFileSync(file, 'utf8') : undefined
  } finally {
    closeSync(file)
  }
}
