import { createRecords } from '../../src/api/records/kubeRecords.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import type { WriteObserver } from '../../src/kube/client.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'

/** Records over an API server in memory, whose caches hear of their own writes at once. */
export function recordsWorld() {
  const late: { observer?: WriteObserver } = {}
  const client = new FakeKubeClient({
    observer: {
      written: (...given) => late.observer?.written(...given),
      read: (...given) => late.observer?.read?.(...given),
      removed: (...given) => late.observer?.removed(...given),
    },
  })
  const caches = new CacheSet({ client })
  late.observer = caches.observer()
  for (const kind of [VectorCluster, ResourceGroup, Boundary]) caches.add(kind.resource)
  return { client, caches, records: createRecords({ client, caches }) }
}

/** The code that something is refused with; `none` if it is not. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
