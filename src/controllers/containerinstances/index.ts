import { type KubeObject, keyOf } from '../../core/object.ts'
import { ContainerInstance, completeInstance } from '../../crds/containerinstances.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import {
  deployment,
  ingress,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  podDisruptionBudget,
  secret,
  service,
  storageClass,
} from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { CLAIM_RIGHTS } from '../nameClaims.ts'
import { releaseQuota } from '../quota.ts'
import { LEDGER_RIGHTS } from '../quotaLedger.ts'
import { findCluster } from '../workload/home.ts'
import { hostObserver } from '../workload/hosts.ts'
import { childRights, podObserver, workloadObservers } from '../workload/observers.ts'
import { OUTPUT_KINDS } from '../workload/outputs.ts'
import { checkQuota, resolvePlan } from '../workload/resolve.ts'
import { REVISION_RIGHTS, removeRevisions } from '../workload/revisions.ts'
import { KEY_RIGHTS, keepAccessKeys } from './accessKeys.ts'
import { BACKUP_CHILDREN, BACKUP_OBSERVERS, keepBackups, removeBackups } from './backup.ts'
import { isMade, judgeHealth, observeInstance, reportStatus } from './health.ts'
import { IDENTITY_RIGHTS, identityObserver, keepIdentity } from './identity.ts'
import { claimHosts, releaseHosts, resolveComponents, wantedHosts } from './resolve.ts'
import { removeSurroundings, removeWorkload, unlessNamespaceGoes } from './teardown.ts'
import { type CachedInstance, type ContainerOptions, type InstanceState, newInstanceState, overWhole } from './types.ts'
import { keepValues } from './values.ts'
import { keepVolumes, removeVolumes } from './volumes.ts'
import { applyWorkload, keepRevisions } from './workload.ts'

const CHILDREN = [deployment, service, ingress, httpRoute, networkPolicy, podDisruptionBudget, certificate]

const instancesIn = (records: Workspace, namespace: string | undefined) =>
  records.cache<CachedInstance>(ContainerInstance.resource).list({ namespace }).map(completeInstance)

/** What wakes a container instance besides itself and its children, and which ones exactly. */
const OTHERS: readonly Observed[] = [
  podObserver(ContainerInstance),
  identityObserver,
  ObjectAccessKey.resource,
  hostObserver<CachedInstance>(ContainerInstance, (each, domain) => wantedHosts(completeInstance(each), domain)),
  { resource: VaultEntry.resource, keysOf: (entry, records) => readersOf(entry, records) },
  ...Object.entries(OUTPUT_KINDS).map(([collection, { resource }]) => ({
    resource,
    relevant: relevantOutputs,
    keysOf: ({ metadata }: KubeObject, records: Workspace) =>
      instancesIn(records, metadata.namespace)
        .filter(({ spec }) =>
          spec.components.some(({ env }) =>
            env.some(({ output }) => output?.collection === collection && output.name === metadata.name),
          ),
        )
        .map(keyOf),
  })),
  ...workloadObservers(ContainerInstance),
]

/** Not how much an account holds, which is looked at every few minutes. */
function relevantOutputs({ kind, metadata, spec, status }: KubeObject): unknown {
  if (kind !== ObjectStorageAccount.kind) return [metadata, spec, status]
  const { endpoint, regionName } = (status ?? {}) as { endpoint?: string; regionName?: string }
  return [metadata.deletionTimestamp, endpoint, regionName]
}

/** Those that refer to a vault secret: a new version rolls them. */
function readersOf({ metadata, spec }: KubeObject, records: Workspace): string[] {
  const { vaultName, secretName } = spec as { vaultName?: string; secretName?: string }
  const isMeant = (reference: { vaultName: string; secretName: string } | undefined) =>
    reference?.vaultName === vaultName && reference?.secretName.toLowerCase() === secretName?.toLowerCase()
  return instancesIn(records, metadata.namespace)
    .filter(({ spec: { components, volumes, registryCredential } }) => {
      const references = [
        registryCredential,
        ...volumes.map((volume) => volume.secret),
        ...components.flatMap(({ env }) => env.map((variable) => variable.secret)),
      ]
      return references.some(isMeant)
    })
    .map(keyOf)
}

const WRITES: readonly Rights[] = [
  ...childRights([...CHILDREN, ...BACKUP_CHILDREN, persistentVolumeClaim]),
  REVISION_RIGHTS,
  IDENTITY_RIGHTS,
  KEY_RIGHTS,
  LEDGER_RIGHTS,
  CLAIM_RIGHTS,
]

/** Keeps container instances as their specs say: docs/areas/containerinstances.md. */
export const containerController = controllerWith<typeof ContainerInstance, ContainerOptions, InstanceState>(
  ContainerInstance,
  {
    observes: [...CHILDREN, persistentVolumeClaim, secret, ...BACKUP_OBSERVERS, ...OTHERS],
    reads: [namespace, storageClass, { resource: SecretVault.resource, in: 'records' }],
    writes: WRITES,
  },
  (options) => ({
    state: newInstanceState,
    reconcile: steps(
      ...[
        observeInstance,
        findCluster,
        resolvePlan({ hasVolumes: false }),
        resolveComponents,
        checkQuota(isMade),
        claimHosts,
        keepVolumes,
        keepIdentity,
        keepAccessKeys,
        keepValues(options),
        keepRevisions,
        applyWorkload(options),
        releaseHosts,
        keepBackups(options),
        reportStatus,
        judgeHealth,
      ].map(overWhole),
    ),
    finalize: steps(
      ...[
        unlessNamespaceGoes(removeWorkload),
        unlessNamespaceGoes(removeVolumes),
        removeSurroundings,
        removeBackups,
        removeRevisions,
        releaseHosts,
        releaseQuota,
      ].map(overWhole),
    ),
  }),
)
