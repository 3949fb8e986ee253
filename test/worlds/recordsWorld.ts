import { createRecords } from '../../src/api/records/kubeRecords.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { CacheSet, withCaches } from '../../src/kube/caches.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'

/** Records over an API server in memory, whose caches learn of their own writes at once. */
export function recordsWorld() {
  const { client, caches } = withCaches(
    (observer) => new FakeKubeClient({ observer }),
    (client) => new CacheSet({ client }),
  )
  for (const kind of [VectorCluster, ResourceGroup, Boundary]) caches.add(kind.resource)
  return { client, caches, records: createRecords({ client, caches }) }
}

/** The code of a refusal; `none` if it is not refused. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
