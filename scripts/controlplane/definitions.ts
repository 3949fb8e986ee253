import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import type { KubeObject } from '../../src/core/object.ts'
import { cachedAt } from './cache.ts'
import { readIfThere, writePrivate } from './files.ts'

const TOOLS = join(import.meta.dirname, '../../tools')
const DOWNLOAD_WITHIN = 120_000

/** Where a release has its definitions: the module of the lock in `tools/<tool>`, and the folder in it. */
export type DefinitionSource = { tool: string; module: string; folder: string; cachedAs: string }

/**
 * Custom resource definitions as their release has them. Go fetches the module once; then they come from the cache.
 *
 * @throws Error if they are not cached and Go cannot fetch them
 */
export async function definitionsOf(
  { tool, module, folder, cachedAs }: DefinitionSource,
  environment = process.env,
): Promise<KubeObject[]> {
  const home = join(TOOLS, tool)
  const lock = await readFile(join(home, 'go.mod'), 'utf8')
  const version = lock.split(`${module} `)[1]?.trim().split(/\s/)[0]
  const cached = cachedAt(`${cachedAs}-${version}.json`, environment)
  const known = await readIfThere(cached)
  if (known !== undefined) return JSON.parse(known)
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], {
    cwd: home,
    env: { ...environment, GOWORK: 'off' },
    timeout: DOWNLOAD_WITHIN,
  })
  const found = join((JSON.parse(stdout) as { Dir: string }).Dir, folder)
  const files = (await readdir(found)).filter((file) => file.endsWith('.yaml')).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(found, file), 'utf8')))
  const objects = texts.flatMap((text) => loadAll(text) as KubeObject[])
  const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  await writePrivate(cached, JSON.stringify(definitions))
  return definitions
}
