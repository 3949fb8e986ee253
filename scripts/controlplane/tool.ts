import { createHash } from 'node:crypto'
import { constants, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildInto, goBuild, goVersion, isGoOlder, requireGo } from './build.ts'
import { cachedAt } from './cache.ts'
import { exists } from './files.ts'
import type { Progress } from './progress.ts'

/** A program that a folder of `tools/` locks by itself: `package` is built there under `name`. */
export type Tool = {
  readonly folder: string
  readonly package: string
  readonly name: string
  /** Build tags of Go, with commas. */
  readonly tags?: string
  /** Whether it is linked with C, which needs a C compiler; otherwise it is static and can be alone in an image. */
  readonly usesC?: true
}

export type ToolSearch = {
  readonly progress: Progress
  readonly signal: AbortSignal | undefined
  readonly environment?: NodeJS.ProcessEnv
}

/**
 * The path of the program: from the cache, or built with Go once for each lock.
 *
 * @returns the oldest version of Go that could build it, if the PATH has none as new
 * @throws Error if the build fails
 */
export async function findTool(tool: Tool, search: ToolSearch): Promise<{ program: string } | { needsGo: string }> {
  const files = await readLock(tool)
  const folder = folderOf(tool, files, search.environment)
  const program = join(folder, tool.name)
  if (await exists(program, constants.X_OK)) return { program }
  const [found, wanted] = [await goVersion(), /^go (\d+\.\d+(?:\.\d+)?)$/m.exec(files[0] ?? '')?.[1] ?? '']
  if (found === undefined || isGoOlder(found, wanted)) return { needsGo: wanted }
  await build(tool, folder, search)
  return { program }
}

/** As `findTool`. @throws Error if it cannot be built here either */
export async function builtTool(tool: Tool, search: ToolSearch): Promise<string> {
  const found = await findTool(tool, search)
  if ('program' in found) return found.program
  requireGo(await goVersion(), found.needsGo)
  throw new Error(`${tool.name} cannot be built here.`)
}

/** Whether it was built before. */
export async function isToolBuilt(tool: Tool): Promise<boolean> {
  return exists(join(folderOf(tool, await readLock(tool)), tool.name), constants.X_OK)
}

function folderOf({ folder }: Tool, lock: readonly string[], environment?: NodeJS.ProcessEnv): string {
  const key = createHash('sha256').update(lock.join('\n')).digest('hex').slice(0, 16)
  return cachedAt(`${folder}-${key}`, environment)
}

/** The version of a module that the tool's lock names. */
export async function lockedVersion(tool: Tool, module: string): Promise<string> {
  const [text = ''] = await readLock(tool)
  return text.split(`${module} v`)[1]?.split(/\s/)[0] ?? ''
}

/** The folder of `tools/` that locks it. */
export const moduleFolder = ({ folder }: Tool) => fileURLToPath(new URL(`../../tools/${folder}`, import.meta.url))

/** go.mod, go.sum and, for a module of ours, its sources, which determine the program too. */
async function readLock(tool: Tool): Promise<string[]> {
  const files = tool.package.startsWith('.') ? await readdir(join(moduleFolder(tool), tool.package)) : []
  const own = files
    .filter((file) => file.endsWith('.go'))
    .sort()
    .map((file) => join(tool.package, file))
  return Promise.all(['go.mod', 'go.sum', ...own].map((name) => readFile(join(moduleFolder(tool), name), 'utf8')))
}

async function build(tool: Tool, folder: string, { progress, signal }: ToolSearch): Promise<void> {
  const program = join(folder, tool.name)
  await buildInto({ folder, module: tool.folder, progress, signal }, async (temporary) => {
    if (await exists(program, constants.X_OK)) return
    const output = join(temporary, tool.name)
    const tags = tool.tags === undefined ? [] : ['-tags', tool.tags]
    const args = ['build', '-trimpath', ...tags, '-ldflags', '-s -w', '-o', output, tool.package]
    const environment = { CGO_ENABLED: tool.usesC ? '1' : '0' }
    await progress.step(`build ${tool.name} (only the first time)`, () =>
      goBuild(moduleFolder(tool), args, signal, environment),
    )
    await rename(output, program)
  })
}
