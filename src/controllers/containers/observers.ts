import type { KubeObject } from '../../core/object.ts'
import type { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ObjectAccessKey } from '../../crds/objectstorage.ts'
import {
  deployment,
  ingress,
  networkPolicy,
  persistentVolumeClaim,
  podDisruptionBudget,
  service,
} from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Observed, Rights } from '../engine/controller.ts'
import { LOOKUP_INDEX } from '../engine/lookups.ts'
import { CLAIM_RIGHTS } from '../nameClaims.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { POD_RIGHTS } from '../workload/evicted.ts'
import { hostObserver, wantedHosts } from '../workload/hosts.ts'
import { IDENTITY_RIGHTS, identityObserver } from '../workload/identity.ts'
import { childRights, podObserver, workloadObservers } from '../workload/observers.ts'
import { referenceObservers } from '../workload/references.ts'
import { REVISION_RIGHTS } from '../workload/revisions.ts'
import { BACKUP_CHILDREN } from '../workload/volumeBackups.ts'
import { KEY_RIGHTS } from './accessKeys.ts'

export const CHILDREN = [deployment, service, ingress, httpRoute, networkPolicy, podDisruptionBudget, certificate]

/** What the controllers of kinds that run components write. */
export const WRITES: readonly Rights[] = [
  ...childRights([...CHILDREN, ...BACKUP_CHILDREN, persistentVolumeClaim]),
  REVISION_RIGHTS,
  IDENTITY_RIGHTS,
  ...KEY_RIGHTS,
  LEDGER_RIGHTS,
  CLAIM_RIGHTS,
  POD_RIGHTS,
]

type View = Pick<ContainerInstance, 'metadata' | 'spec'>

/**
 * Returns what wakes a resource that runs components, besides itself and its children.
 *
 * @param viewOf converts a stored object of the kind to a container instance
 */
export function containerObservers<Stored extends KubeObject>(
  kind: AnyKind,
  viewOf: (stored: Stored) => View,
): Observed[] {
  return [
    podObserver(kind),
    identityObserver(kind),
    ObjectAccessKey.resource,
    hostObserver<Stored>(kind, (each, domain) => wantedHosts(kind.segment, viewOf(each), domain)),
    // A new version of a referenced value triggers a rollout.
    ...referenceObservers((records, key) => records.cache(kind.resource).byIndex(LOOKUP_INDEX, key)),
    ...workloadObservers(kind),
  ]
}
