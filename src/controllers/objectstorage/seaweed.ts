import type { SeaweedRef } from '../../contracts/objectstorage.ts'
import { type KubeObject, keyOf } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import { ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { type Seaweed, seaweedObstacle } from '../../desired/objectstorage/seaweed.ts'
import { seaweed } from '../../kube/seaweedfs.ts'
import type { Observed, Workspace } from '../engine/controller.ts'

/** Wakes accounts that wait for the store when its Seaweed changes, if one is configured. */
export function seaweedObservers(seaweedRef: SeaweedRef | undefined): Observed[] {
  if (seaweedRef === undefined) return []
  return [
    {
      resource: seaweed,
      keysOf: ({ metadata }, records) =>
        metadata.namespace === seaweedRef.namespace && metadata.name === seaweedRef.name
          ? records.cache(ObjectStorageAccount).list().map(keyOf)
          : [],
    },
  ]
}

/** Returns why the Seaweed cannot be used; undefined if it can. */
export function obstacleOf(records: Workspace, seaweedRef: SeaweedRef): Outcome | undefined {
  const isServed = records.isServed(seaweed)
  const found = isServed
    ? records.cache<Seaweed & KubeObject>(seaweed).get(seaweedRef.namespace, seaweedRef.name)
    : undefined
  return seaweedObstacle(seaweedRef, found, isServed)
}
