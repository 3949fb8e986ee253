import { lstat, mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { BuildRefusal, nothingToBuild } from '../../../contracts/builds/files.ts'
import { quotedPath } from '../../../contracts/builds/messageText.ts'
import { type BuildPlan, DOCKERIGNORE_PATTERNS, planBuild } from '../../../contracts/builds/plan.ts'
import type { BuildTask, TerminationMessage } from '../../../contracts/builds/pod.ts'
import type { BuildPaths, PreparedBuild } from './buildPaths.ts'
import { clone, fetchArchive } from './fetch.ts'
import { listSourceFiles, MAX_SOURCE_FILE_BYTES, resolveSourceFolder } from './sourceFiles.ts'

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
