import { execFile, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { load } from 'js-yaml'
import type { KubeObject } from '../../src/core/object.ts'

const MODULE = join(import.meta.dirname, '../../tools/gatewayapi')
const KINDS = ['gatewayclasses', 'gateways', 'httproutes']

/** Why the Gateway API cannot be had here, in words for the reader of a test result; undefined if it can. */
export function gatewayApiIsMissing(): string | undefined {
  return spawnSync('go', ['version']).status === 0 ? undefined : 'Go is not installed, which gets the Gateway API'
}

/** The definitions of the Gateway API as its release has them (standard channel), from the lock of `tools/gatewayapi`. */
export async function gatewayApiDefinitions(): Promise<KubeObject[]> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', 'sigs.k8s.io/gateway-api'], {
    cwd: MODULE,
    env: { ...process.env, GOWORK: 'off' },
    timeout: 120_000,
  })
  const { Dir: folder } = JSON.parse(stdout) as { Dir: string }
  const read = async (plural: string) => {
    const path = join(folder, 'config/crd/standard', `gateway.networking.k8s.io_${plural}.yaml`)
    return load(await readFile(path, 'utf8')) as KubeObject
  }
  return Promise.all(KINDS.map(read))
}
