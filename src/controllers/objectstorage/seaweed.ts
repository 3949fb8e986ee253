import type { SeaweedPlace } from '../../contracts/objectstorage.ts'
import { type KubeObject, keyOf } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import { ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { type Seaweed, seaweedObstacle } from '../../desired/objectstorage/seaweed.ts'
import { seaweed } from '../../kube/seaweedfs.ts'
import type { Observed, Workspace } from '../engine/controller.ts'

/** What wakes accounts that wait for the store: its Seaweed, where the platform is pointed at one. */
export function seaweedObservers(place: SeaweedPlace | undefined): Observed[] {
  if (place === undefined) return []
  return [
    {
      resource: seaweed,
      keysOf: ({ metadata }, records) =>
        metadata.namespace === place.namespace && metadata.name === place.name
          ? records.cache(ObjectStorageAccount).list().map(keyOf)
          : [],
    },
  ]
}

/** Why the Seaweed cannot be used; undefined if it can. */
export function obstacleOf(records: Workspace, place: SeaweedPlace): Outcome | undefined {
  const isServed = records.isServed(seaweed)
  const found = isServed ? records.cache<Seaweed & KubeObject>(seaweed).get(place.namespace, place.name) : undefined
  return seaweedObstacle(place, found, isServed)
}
