import { randomUUID } from 'node:crypto'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { until } from '../make/until.ts'

/** A boundary with groups and many databases, created as by a Git tool. */
export type Fleet = { boundaryId: string; groups: string[]; namespaces: string[]; databases: number }

const CONCURRENCY = 8

export function objectOf(kind: AnyKind, name: string, namespace: string | undefined, spec: object): KubeObject {
  const metadata = namespace === undefined ? { name } : { name, namespace }
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec }
}

export function isReady(object: KubeObject): boolean {
  const status = object.status as
    | { conditions?: { type: string; status: string }[]; observedGeneration?: number }
    | undefined
  const ready = status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
  return ready === true && status?.observedGeneration === object.metadata.generation
}

export async function makeFleet(
  client: KubeClient,
  options: { groups: number; databases: number; spec?: object | ((index: number) => object) },
): Promise<Fleet> {
  const boundaryId = randomUUID()
  await client.create(Boundary.resource, objectOf(Boundary, boundaryId, undefined, { displayName: 'Fleet' }))
  await until('the boundary is ready', async () => isReady(await client.get(Boundary.resource, { name: boundaryId })))
  const home = boundaryNamespace(boundaryId)
  const groups = Array.from({ length: options.groups }, (_, index) => `fleet-${index}`)
  for (const name of groups) {
    await client.create(ResourceGroup.resource, objectOf(ResourceGroup, name, home, {}))
    await until('the group is ready', async () =>
      isReady(await client.get(ResourceGroup.resource, { namespace: home, name })),
    )
  }
  const namespaces = groups.map((name) => groupNamespace(boundaryId, name))
  await inParallel(options.databases, async (index) => {
    const namespace = namespaces[index % namespaces.length] ?? ''
    const name = `db-${String(index).padStart(5, '0')}`
    const spec = typeof options.spec === 'function' ? options.spec(index) : (options.spec ?? {})
    await client.create(VectorCluster.resource, objectOf(VectorCluster, name, namespace, spec))
  })
  return { boundaryId, groups, namespaces, databases: options.databases }
}

export async function untilFleetIsReady(client: KubeClient, fleet: Fleet, within: number): Promise<void> {
  const waiting = async () => {
    const lists = await Promise.all(
      fleet.namespaces.map((namespace) => client.list(VectorCluster.resource, { namespace })),
    )
    return lists.flatMap(({ items }) => items).filter((item) => !isReady(item))
  }
  const deadline = performance.now() + within
  for (;;) {
    const late = await waiting()
    if (late.length === 0) return
    if (performance.now() > deadline) {
      const first = JSON.stringify(
        late.slice(0, 3).map(({ metadata: { name }, spec, status }) => ({ name, spec, status })),
      )
      throw new Error(`${late.length} of ${fleet.databases} databases are not ready after ${within / 1000} s: ${first}`)
    }
    // Each look lists everything, which would keep the API server busy.
    await new Promise((done) => setTimeout(done, 3_000))
  }
}

async function inParallel(count: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await task(next++)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
