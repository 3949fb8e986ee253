import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { lstat, mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { BuildRefusal, nothingToBuild, type SourceFiles } from '../../../contracts/builds/files.ts'
import { quotedPath } from '../../../contracts/builds/messageText.ts'
import { type BuildPlan, DOCKERIGNORE_PATTERNS, planBuild } from '../../../contracts/builds/plan.ts'
import type { BuildTask, TerminationMessage } from '../../../contracts/builds/pod.ts'
import type { BuildPaths, PreparedBuild } from './buildPaths.ts'
import { clone, fetchArchive } from './fetch.ts'

/** The first part: fetches the source, detects its runtime and writes what the build needs. */
export async function fetchSource(places: BuildPaths): Promise<TerminationMessage> {
  const task = places.readOrder()
  await mkdir(places.source, { recursive: true })
  const { source, recipe, settings } = task
  console.log(source.kind === 'Git' ? `Fetching ${source.branch} of ${source.url}` : 'Fetching the uploaded source')
  const commit = source.kind === 'Git' ? await clone(source, task, places) : undefined
  if (source.kind === 'Archive') await fetchArchive(source.reference, task, places)
  const context = resolveSourceFolder(places.source, recipe.rootPath, 'rootPath')
  await addFiles(context, recipe.files ?? {})
  const plan = planBuild(listSourceFiles(context), { ...recipe, mirrors: settings.packageMirrors ?? {} })
  await writeFile(places.hand, JSON.stringify(await prepareBuild(plan, context, places)))
  const { runtime, runtimeVersion } = plan
  console.log(`Building with ${runtime}${runtimeVersion === undefined ? '' : ` ${runtimeVersion}`}`)
  return {
    ...(commit !== undefined && { commit }),
    runtime,
    ...(runtimeVersion !== undefined && { runtimeVersion }),
  }
}

/** Adds the files of the platform to the source. The source may try to divert them with a link or a file. */
async function addFiles(context: string, files: NonNullable<BuildTask['recipe']['files']>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const place = join(context, path)
    const parts = dirname(path).split('/')
    // Parents first, so that no folder is created below a link.
    for (const at of parts.keys()) await addFolder(join(context, ...parts.slice(0, at + 1)), path)
    await writeFile(place, content, { flag: 'wx' }).catch(() => {
      throw new BuildRefusal(
        'SourceRefused',
        `The source has a file ${quotedPath(path)}, which only the platform may write.`,
      )
    })
  }
}

async function addFolder(folder: string, path: string): Promise<void> {
  const found = await lstat(folder).catch(() => undefined)
  if (found === undefined) await mkdir(folder)
  else if (!found.isDirectory()) throw folderRefusal(path)
}

const folderRefusal = (path: string) =>
  new BuildRefusal(
    'SourceRefused',
    `A folder of ${quotedPath(path)}, which the platform writes, is not a folder in the source.`,
  )

async function prepareBuild(plan: BuildPlan, context: string, places: BuildPaths): Promise<PreparedBuild> {
  const { dockerfilePath, dockerfile, server } = plan
  if (dockerfile === undefined) {
    const path = dockerfilePath ?? 'Dockerfile'
    const folder = resolveSourceFolder(
      places.source,
      join(relative(places.source, context), dirname(path)),
      'dockerfilePath',
    )
    const files = listSourceFiles(folder)
    if (!files.paths.has(basename(path)))
      throw nothingToBuild(`There is no Dockerfile at ${quotedPath(path)}: check dockerfilePath.`)
    if (files.text(basename(path)) === undefined)
      throw nothingToBuild(`The Dockerfile at ${quotedPath(path)} is longer than ${MAX_SOURCE_FILE_BYTES} bytes.`)
    return { context, dockerfile: { folder, name: basename(path) }, server: false }
  }
  await mkdir(places.recipe, { recursive: true })
  await writeFile(join(places.recipe, 'Dockerfile'), dockerfile)
  // The source's own .dockerignore applies as well.
  const own = listSourceFiles(context).text('.dockerignore') ?? ''
  await writeFile(join(places.recipe, 'Dockerfile.dockerignore'), [...DOCKERIGNORE_PATTERNS, own, ''].join('\n'))
  for (const [name, content] of Object.entries(server)) await writeFile(join(places.recipe, name), content)
  console.log(dockerfile)
  return { context, dockerfile: { folder: places.recipe, name: 'Dockerfile' }, server: Object.keys(server).length > 0 }
}

const MAX_SOURCE_FILE_BYTES = 1024 ** 2
const MAX_PATHS = 20_000

/**
 * Resolves a folder of the source. Links may lead to it, but not out of the source.
 *
 * @param by the field of the recipe that names it
 * @throws BuildRefusal if it is missing, no folder, or outside of the source
 */
function resolveSourceFolder(source: string, path: string, by: 'rootPath' | 'dockerfilePath'): string {
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
function listSourceFiles(folder: string): SourceFiles {
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
