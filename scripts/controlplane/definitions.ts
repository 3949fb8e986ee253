import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import type { KubeObject } from '../../src/core/object.ts'
import { cachedAt } from './cache.ts'
import { readIfThere, writePrivate } from './files.ts'

const TOOLS = join(import.meta.dirname, '../../tools')
const DOWNLOAD_TIMEOUT_MS = 120_000

/** A module of the lock in `tools/<tool>`. */
export type ModuleSource = { tool: string; module: string }
/** Where a release has its definitions: the module, and the folder in it. */
export type DefinitionSource = ModuleSource & { folder: string; cachedAs: string }

/** The module as its release has it, fetched by Go into Go's own cache. @throws Error if Go cannot fetch it */
export async function downloadedModule(
  { tool, module }: ModuleSource,
  environment = process.env,
): Promise<{ version: string; folder: string }> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], {
    cwd: join(TOOLS, tool),
    env: { ...environment, GOWORK: 'off' },
    timeout: DOWNLOAD_TIMEOUT_MS,
  })
  const { Version: version, Dir: folder } = JSON.parse(stdout) as { Version: string; Dir: string }
  return { version, folder }
}

/**
 * Custom resource definitions as their release has them. Go fetches the module once; then they come from the cache.
 *
 * @throws Error if they are not cached and Go cannot fetch them
 */
export async function definitionsOf(
  { folder, cachedAs, ...source }: DefinitionSource,
  environment = process.env,
): Promise<KubeObject[]> {
  const { tool, module } = source
  const lock = await readFile(join(TOOLS, tool, 'go.mod'), 'utf8')
  const version = lock.split(`${module} `)[1]?.trim().split(/\s/)[0]
  const cached = cachedAt(`${cachedAs}-${version}.json`, environment)
  const known = await readIfThere(cached)
  if (known !== undefined) return JSON.parse(known)
  const found = join((await downloadedModule(source, environment)).folder, folder)
  const files = (await readdir(found)).filter((file) => file.endsWith('.yaml')).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(found, file), 'utf8')))
  const objects = texts.flatMap((text) => loadAll(text) as KubeObject[])
  const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  await writePrivate(cached, JSON.stringify(definitions))
  return definitions
}
