import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import type { KubeObject } from '../../src/core/object.ts'
import { cachedAt } from '../controlplane/cache.ts'
import { readIfThere, writePrivate } from '../controlplane/files.ts'

const MODULE = join(import.meta.dirname, '../../tools/gatewayapi')
const NAME = 'sigs.k8s.io/gateway-api'
const DOWNLOAD_WITHIN = 120_000

/**
 * The definitions of the Gateway API as its release has them (standard channel), from the lock of `tools/gatewayapi`.
 * Go fetches them once; then they come from the cache.
 *
 * @throws Error if they are not cached and Go cannot fetch them
 */
export async function gatewayApiDefinitions(environment = process.env): Promise<KubeObject[]> {
  const lock = await readFile(join(MODULE, 'go.mod'), 'utf8')
  const version = lock.split(`${NAME} `)[1]?.trim().split(/\s/)[0]
  const cached = cachedAt(`gateway-api-${version}.json`, environment)
  const known = await readIfThere(cached)
  if (known !== undefined) return JSON.parse(known)
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', NAME], {
    cwd: MODULE,
    env: { ...environment, GOWORK: 'off' },
    timeout: DOWNLOAD_WITHIN,
  })
  const folder = join((JSON.parse(stdout) as { Dir: string }).Dir, 'config/crd/standard')
  const files = (await readdir(folder)).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  const objects = texts.flatMap((text) => loadAll(text) as KubeObject[])
  const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  await writePrivate(cached, JSON.stringify(definitions))
  return definitions
}
