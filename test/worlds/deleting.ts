import type { KubeObject, ObjectRef, Resource } from '../../src/core/object.ts'
import type { CacheSet } from '../../src/kube/caches.ts'
import type { FakeKubeClient } from '../../src/kube/fake.ts'

const THEN = '2026-01-01T00:00:00Z'

/** Starts the deletion of an object with a finalizer; the caches see it at once. */
export function beginDeletion(
  { client, caches }: { client: FakeKubeClient; caches: CacheSet },
  resource: Resource,
  { namespace, name }: ObjectRef,
): void {
  const found = [...client.stored(resource)].find(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  )
  if (found === undefined) throw new RangeError(`There is no ${resource.kind} "${name}".`)
  const metadata = { ...found.metadata, deletionTimestamp: THEN, finalizers: ['held/by-a-test'] }
  caches.get(resource).observeWrite(client.seed(resource, { ...found, metadata } as KubeObject))
}
