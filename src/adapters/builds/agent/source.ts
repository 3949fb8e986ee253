import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { BuildRefusal, nothingToBuild } from '../../../contracts/builds/files.ts'
import { type BuildPlan, IGNORED, planBuild } from '../../../contracts/builds/plan.ts'
import type { BuildOrder, BuildWord } from '../../../contracts/builds/pod.ts'
import { clone, fetchArchive } from './fetch.ts'
import { type Hand, PLACES, readOrder } from './places.ts'
import { filesIn, folderOf } from './sourceFiles.ts'

/** The first part: gets the source, looks what it is, and writes what is built with. */
export async function fetchSource(): Promise<BuildWord> {
  const order = readOrder()
  await mkdir(PLACES.source, { recursive: true })
  const { source, recipe, settings } = order
  console.log(source.kind === 'Git' ? `Fetching ${source.branch} of ${source.url}` : 'Fetching the uploaded source')
  const commit = source.kind === 'Git' ? await clone(source, order) : undefined
  if (source.kind === 'Archive') await fetchArchive(source.reference, order)
  const context = folderOf(PLACES.source, recipe.rootPath)
  await addFiles(context, recipe.files ?? {})
  const plan = planBuild(filesIn(context), { ...recipe, mirrors: settings.packageMirrors ?? {} })
  await writeFile(PLACES.hand, JSON.stringify(await handOf(plan, context)))
  const { runtime, runtimeVersion } = plan
  console.log(`Building with ${runtime}${runtimeVersion === undefined ? '' : ` ${runtimeVersion}`}`)
  return {
    ...(commit !== undefined && { commit }),
    runtime,
    ...(runtimeVersion !== undefined && { runtimeVersion }),
  }
}

/** What is laid over the source comes from the platform, but a link of the source may stand in its way. */
async function addFiles(context: string, files: NonNullable<BuildOrder['recipe']['files']>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const place = join(context, path)
    await mkdir(dirname(place), { recursive: true })
    if (!folderOf(PLACES.source, dirname(place).slice(PLACES.source.length)).startsWith(context)) {
      throw new BuildRefusal('SourceRefused', `${JSON.stringify(path)} of the source leads elsewhere.`)
    }
    await writeFile(place, content, { flag: 'wx' }).catch(() => {
      throw new BuildRefusal('SourceRefused', `The source has a file ${JSON.stringify(path)}, which is ours to write.`)
    })
  }
}

async function handOf(plan: BuildPlan, context: string): Promise<Hand> {
  const { dockerfilePath, dockerfile, server } = plan
  if (dockerfile === undefined) {
    const path = dockerfilePath ?? 'Dockerfile'
    const folder = folderOf(PLACES.source, join(context.slice(PLACES.source.length), dirname(path)))
    if (!filesIn(folder).paths.has(basename(path)))
      throw nothingToBuild(`There is no Dockerfile at ${path}: check dockerfilePath.`)
    return { context, dockerfile: { folder, name: basename(path) }, server: false }
  }
  await mkdir(PLACES.recipe, { recursive: true })
  await writeFile(join(PLACES.recipe, 'Dockerfile'), dockerfile)
  // What the source itself wants to keep out counts too.
  const own = filesIn(context).text('.dockerignore') ?? ''
  await writeFile(join(PLACES.recipe, 'Dockerfile.dockerignore'), [...IGNORED, own, ''].join('\n'))
  for (const [name, content] of Object.entries(server)) await writeFile(join(PLACES.recipe, name), content)
  console.log(dockerfile)
  return { context, dockerfile: { folder: PLACES.recipe, name: 'Dockerfile' }, server: Object.keys(server).length > 0 }
}
