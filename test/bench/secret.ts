import { groupNamespace } from '../../src/core/names.ts'
import { secret } from '../../src/kube/builtin.ts'
import { until } from '../make/until.ts'
import { type Arm, compare, fetchJson } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { circumstances, setStage } from './stage.ts'

/** One at a time shows a caller's wait; many at once show a machine's capacity. */
const CONNECTIONS = [1, 20]
const VALUE = 'x'.repeat(1024)

/**
 * The value of a secret through the facade (key unwrapped, value decrypted, nothing cached), compared with a plain
 * Secret of the same value, read directly from the same API server.
 */
export async function runSecret({ rounds, seconds, count = 100 }: BenchmarkOptions): Promise<object> {
  const stage = await setStage(1)
  try {
    const { fleet, own } = stage
    const base = `/boundaries/${fleet.boundaryId}/resourcegroups/fleet-0/resources/secretvaults/bench`
    const home = groupNamespace(fleet.boundaryId, 'fleet-0')
    await write(stage.ours, 'POST', base, {})
    await until('the vault runs', async () => {
      const { status } = (await fetchJson(stage.ours, base)) as { status: string }
      return status === 'Running'
    })
    const names = Array.from({ length: count }, (_, index) => `bench-${index}`)
    for (const name of names) {
      await write(stage.ours, 'PUT', `${base}/secrets/${name}`, { value: VALUE })
      const data = { value: Buffer.from(VALUE).toString('base64') }
      await own.admin.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: home }, data })
    }
    const facade = { ...stage.ours, paths: names.map((name) => `${base}/secrets/${name}`) }
    const server = { ...stage.raw, paths: names.map((name) => `/api/v1/namespaces/${home}/secrets/${name}`) }
    await compareContents(facade, server)
    const results: Record<string, object> = {}
    for (const connections of CONNECTIONS) {
      results[`connections${connections}`] = await compare(facade, server, {
        connections,
        rounds,
        milliseconds: seconds * 1000,
      })
    }
    return { benchmark: 'secret', ...circumstances(stage), ...results }
  } finally {
    await stage.stop()
  }
}

async function write(arm: Arm, method: string, path: string, body: object): Promise<void> {
  const headers = { ...arm.headers, 'content-type': 'application/json' }
  const answer = await fetch(arm.origin + path, { method, headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`)
}

async function compareContents(facade: Arm, server: Arm): Promise<void> {
  const ours = (await fetchJson(facade, facade.paths[0] ?? '')) as { value: string }
  const theirs = (await fetchJson(server, server.paths[0] ?? '')) as { data: { value: string } }
  if (ours.value !== VALUE || Buffer.from(theirs.data.value, 'base64').toString() !== VALUE)
    throw new Error('The arms return different values.')
}
