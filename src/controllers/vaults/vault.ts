import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import { BOUNDARY_LABEL, GROUP_LABEL } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { type KubeObject, keyOf, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { isKnown, isLive } from '../../core/vaults/history.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { type QuotaUser, quotaSentence, quotaVerdict } from '../../desired/quota.ts'
import { namespace as namespaces } from '../../kube/builtin.ts'
import type { Workspace } from '../engine/controller.ts'
import { claimed, releaseClaims } from '../nameClaims.ts'
import { vectorUsers } from '../vector/quota.ts'
import type { CachedEntry, CachedVault, VaultPass } from './types.ts'

type Cached<T> = T & { [key: string]: unknown }

/** The vaults of a boundary: each is one resource and asks for nothing else. */
function vaultUsers(records: Workspace, boundaryId: string): QuotaUser[] {
  const homes = records.cache(namespaces)
  return records
    .cache<CachedVault>(SecretVault.resource)
    .list()
    .flatMap((vault) => {
      const labels = homes.get(undefined, vault.metadata.namespace ?? '')?.metadata.labels
      if (labels?.[BOUNDARY_LABEL] !== boundaryId) return []
      const createdAt = vault.metadata.creationTimestamp ?? ''
      return [{ key: keyOf(vault as KubeObject), createdAt, resourceGroup: labels[GROUP_LABEL] ?? '', demand: {} }]
    })
}

/** Whether one resource more fits into the boundary and the group. A vault that was ready stays. */
export function checkQuota(pass: VaultPass): Outcome {
  const { boundaryId } = pass.place
  const boundary = pass.records.cache<Cached<Boundary>>(Boundary.resource).get(undefined, boundaryId ?? '')
  if (boundaryId === undefined || boundary === undefined || pass.object.status?.firstReadyAt !== undefined)
    return done()
  const vaults = vaultUsers(pass.records, boundaryId)
  const subject = vaults.find(({ key }) => key === pass.key)
  if (subject === undefined) return done()
  const groups = pass.records
    .cache<Cached<ResourceGroup>>(ResourceGroup.resource)
    .list({ namespace: boundaryNamespace(boundaryId) })
    .map((group) => [group.metadata.name, group.spec.quota] as const)
  // Keys of two kinds may be equal: the other kind's are made different.
  const others = vectorUsers(pass.records, boundaryId).map((user) => ({ ...user, key: `vectorclusters/${user.key}` }))
  const verdict = quotaVerdict({
    boundary: boundary.spec.quota,
    groups: new Map(groups),
    subject,
    others: [...vaults, ...others],
  })
  return verdict.kind === 'fits' ? done() : stalled('QuotaExceeded', quotaSentence(verdict))
}

export function checkCluster({ object, records }: VaultPass): Outcome {
  const { clusterId } = object.spec
  if (clusterId === undefined) return done()
  const cluster = records.cache<Cached<PlatformCluster>>(PlatformCluster.resource).get(undefined, clusterId)
  if (cluster === undefined) return stalled('ReferenceMissing', `There is no cluster "${clusterId}".`)
  if (cluster.spec.isPlatform) return done()
  return stalled('ClusterUnreachable', `Cluster "${cluster.spec.displayName}" has no agent that could keep vaults.`)
}

/** The name on the platform. REST takes it before the vault is made; a vault of kubectl takes it here. */
export async function claimVaultName(pass: VaultPass): Promise<Outcome> {
  const { name } = pass.object.metadata
  if (await claimed(pass, 'Vault', name)) return done()
  return stalled('NameOccupied', `The name "${name}" is taken on this platform: choose another one.`)
}

export async function releaseVaultName(pass: VaultPass): Promise<Outcome> {
  await releaseClaims(pass, () => true)
  return done()
}

function entriesOf({ records, object }: Pick<VaultPass, 'records' | 'object'>): CachedEntry[] {
  const { namespace, name } = object.metadata
  const entries = records.cache<CachedEntry>(VaultEntry.resource).list({ namespace })
  return entries.filter((entry) => entry.spec.vaultName === name)
}

/** Milliseconds between counts of one vault: a thousand secrets that are written at once are not counted a thousand times. */
const COUNT_INTERVAL = 2_000

/** What `kubectl get svault` and the admission of a deletion see. REST counts for itself. */
export function countSecrets(keys: PlatformKeys) {
  const counted = new Map<string, number>()
  return function countSecrets(pass: VaultPass): Outcome {
    const now = pass.clock.monotonic()
    const wait = (counted.get(pass.key) ?? Number.NEGATIVE_INFINITY) + COUNT_INTERVAL - now
    if (wait > 0 && pass.object.status?.secretCount !== undefined) return done({ after: wait })
    counted.set(pass.key, now)
    const entries = entriesOf(pass)
    const known = entries.filter(isKnown)
    const keyId = keys.newest()?.id
    pass.report({
      secretCount: known.filter(isLive).length,
      deletedCount: known.filter((entry) => !isLive(entry)).length,
      keyId,
      pendingRewraps: known.filter(({ status }) => status?.keyId !== keyId).length,
    })
    if (keyId !== undefined) return done()
    return stalled('ConfigurationInvalid', 'No platform key is configured: set PLATFORM_VAULT_KEYS_FILE.')
  }
}

/** Deletes the secrets, whose own finalizers remove keys and values. What may not go was refused before. */
export async function removeEntries(pass: VaultPass): Promise<Outcome> {
  const entries = entriesOf(pass)
  for (const entry of entries) {
    if (entry.metadata.deletionTimestamp !== undefined) continue
    await pass.records.client.remove(VaultEntry.resource, refOf(entry), { uid: entry.metadata.uid })
  }
  const left = entriesOf(pass).length
  return left === 0 ? done() : waiting('TearingDown', `${left} secrets are being removed.`)
}
