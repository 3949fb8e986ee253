import { type KubeObject, objectKey } from '../../core/object.ts'
import type { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { VaultEntry } from '../../crds/vaults.ts'
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
import type { Observed, Rights, Workspace } from '../engine/controller.ts'
import { CLAIM_RIGHTS } from '../nameClaims.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { hostObserver } from '../workload/hosts.ts'
import { childRights, podObserver, workloadObservers } from '../workload/observers.ts'
import { OUTPUT_KINDS } from '../workload/outputs.ts'
import { REVISION_RIGHTS } from '../workload/revisions.ts'
import { KEY_RIGHTS } from './accessKeys.ts'
import { BACKUP_CHILDREN } from './backup.ts'
import { IDENTITY_RIGHTS, identityObserver } from './identity.ts'
import { wantedHosts } from './resolve.ts'

export const CHILDREN = [deployment, service, ingress, httpRoute, networkPolicy, podDisruptionBudget, certificate]

/** What the controller of a kind that runs components writes. */
export const WRITES: readonly Rights[] = [
  ...childRights([...CHILDREN, ...BACKUP_CHILDREN, persistentVolumeClaim]),
  REVISION_RIGHTS,
  IDENTITY_RIGHTS,
  KEY_RIGHTS,
  LEDGER_RIGHTS,
  CLAIM_RIGHTS,
]

type View = Pick<ContainerInstance, 'metadata' | 'spec'>
const keyOfView = ({ metadata }: View) => objectKey(metadata.namespace, metadata.name)

/**
 * What wakes a resource that runs components, besides itself and its children, and which ones exactly.
 *
 * @param viewOf a stored object of the kind as what it runs
 */
export function containerObservers<Stored extends KubeObject>(
  kind: AnyKind,
  viewOf: (stored: Stored) => View,
): Observed[] {
  const viewsIn = (records: Workspace, namespace: string | undefined) =>
    records.cache<Stored>(kind.resource).list({ namespace }).map(viewOf)
  return [
    podObserver(kind),
    identityObserver(kind),
    ObjectAccessKey.resource,
    hostObserver<Stored>(kind, (each, domain) => wantedHosts(kind.segment, viewOf(each), domain)),
    {
      resource: VaultEntry.resource,
      keysOf: (entry, records) => readersOf(entry, viewsIn(records, entry.metadata.namespace)),
    },
    ...Object.entries(OUTPUT_KINDS).map(([collection, { resource }]) => ({
      resource,
      relevant: relevantOutputs,
      keysOf: ({ metadata }: KubeObject, records: Workspace) =>
        viewsIn(records, metadata.namespace)
          .filter(({ spec }) =>
            spec.components.some(({ env }) =>
              env.some(({ output }) => output?.collection === collection && output.name === metadata.name),
            ),
          )
          .map(keyOfView),
    })),
    ...workloadObservers(kind),
  ]
}

/** Not how much an account holds, which is looked at every few minutes. */
function relevantOutputs({ kind, metadata, spec, status }: KubeObject): unknown {
  if (kind !== ObjectStorageAccount.kind) return [metadata, spec, status]
  const { endpoint, regionName } = (status ?? {}) as { endpoint?: string; regionName?: string }
  return [metadata.deletionTimestamp, endpoint, regionName]
}

/** Those that refer to a vault secret: a new version rolls them. */
function readersOf({ spec }: KubeObject, views: readonly View[]): string[] {
  const { vaultName, secretName } = spec as { vaultName?: string; secretName?: string }
  const isMeant = (reference: { vaultName: string; secretName: string } | undefined) =>
    reference?.vaultName === vaultName && reference?.secretName.toLowerCase() === secretName?.toLowerCase()
  return views
    .filter(({ spec: { components, volumes, registryCredential } }) => {
      const references = [
        registryCredential,
        ...volumes.map((volume) => volume.secret),
        ...components.flatMap(({ env }) => env.map((variable) => variable.secret)),
      ]
      return references.some(isMeant)
    })
    .map(keyOfView)
}
