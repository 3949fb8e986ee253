import { DEPLOYED_COLLECTIONS, type DeployedCollection, type ReleaseProgress } from '../../contracts/deployments.ts'
import { INCARNATION_ANNOTATION, OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, keyOf, objectKey, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { KINDS } from '../../crds/index.ts'
import { absent } from '../../kube/errors.ts'
import type { Observed, Pass, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { ownerRestoreMs } from '../engine/ownership.ts'
import { refOfPass } from '../workload/pass.ts'

/** Deployments and their owners, which may be of several kinds. */

export type CachedRecord = DeploymentRecord & { [key: string]: unknown }
export type RecordPass<State = unknown> = Pass<typeof DeploymentRecord, State>
export type Owner = KubeObject & {
  spec?: { cancelledDeployment?: string | undefined }
  status?: { release?: ReleaseProgress | undefined; servingDeployment?: string | undefined } | undefined
}

function kindOf(collection: DeployedCollection): AnyKind | undefined {
  return KINDS.find(({ segment }) => segment === collection)
}

export const OWNER_KINDS: readonly AnyKind[] = DEPLOYED_COLLECTIONS.flatMap((collection) => kindOf(collection) ?? [])

export function deploymentsOf(
  records: Workspace,
  { namespace, collection, name }: { namespace: string | undefined; collection: string; name: string },
): CachedRecord[] {
  return [...related(records.cache(DeploymentRecord), 'parent', namespace, collection, name)]
}

/** Returns the deployments of this incarnation of an owner. Those of an earlier one with its name are being deleted. */
export function ownDeployments({
  kind,
  object,
  records,
  incarnation,
}: Pick<Pass, 'kind' | 'records' | 'incarnation'> & { readonly object: Pick<KubeObject, 'metadata'> }): CachedRecord[] {
  const { namespace, name } = object.metadata
  return deploymentsOf(records, { namespace, collection: kind.segment, name }).filter(
    ({ metadata }) => (metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? incarnation) === incarnation,
  )
}

/** Wakes the owner of a deployment, if a field that it reads has changed. */
export function deploymentObserver({ segment }: AnyKind): Observed {
  return {
    resource: DeploymentRecord.resource,
    relevant: (record) => {
      const { metadata, spec, status } = record as CachedRecord
      const { stage, image, number, lastMessage } = status ?? {}
      const incarnation = metadata.annotations?.[OWNER_INCARNATION_ANNOTATION]
      return [metadata.deletionTimestamp, incarnation, spec, stage, image, number, lastMessage]
    },
    keysOf: (record) => {
      const { spec, metadata } = record as CachedRecord
      return spec.ownerCollection === segment ? [objectKey(metadata.namespace, spec.ownerName)] : []
    },
  }
}

/** A deployment wakes its owner's other deployments; an owner wakes all of its own. */
export const RECORD_OBSERVERS: readonly Observed[] = [
  {
    resource: DeploymentRecord.resource,
    relevant: ({ metadata, status = {} }) => {
      const { stage, logLines } = status as { stage?: string; logLines?: number }
      return [metadata.deletionTimestamp, stage, logLines]
    },
    keysOf: (object, records) => {
      const { spec, metadata } = object as CachedRecord
      const place = { namespace: metadata.namespace, collection: spec.ownerCollection, name: spec.ownerName }
      return deploymentsOf(records, place).map(keyOf)
    },
  },
  ...OWNER_KINDS.map(
    (kind): Observed => ({
      resource: kind.resource,
      relevant: ({ metadata, spec, status }) => [
        metadata.uid,
        metadata.annotations?.[INCARNATION_ANNOTATION],
        metadata.deletionTimestamp,
        (spec as Owner['spec'])?.cancelledDeployment,
        (status as Owner['status'])?.release,
      ],
      keysOf: ({ metadata: { namespace, name } }, records) =>
        deploymentsOf(records, { namespace, collection: kind.segment, name }).map(keyOf),
    }),
  ),
]

export function ownerOf({ object, records }: Pick<RecordPass, 'object' | 'records'>): Owner | undefined {
  const kind = kindOf(object.spec.ownerCollection)
  if (kind === undefined) return undefined
  return records.cache<Owner>(kind.resource).get(object.metadata.namespace, object.spec.ownerName)
}

const incarnationOf = ({ metadata }: KubeObject) =>
  metadata.annotations?.[INCARNATION_ANNOTATION] || (metadata.uid ?? '')

/** Milliseconds within which the owner must appear in the cache: it existed when the deployment was requested. */
const OWNER_TIMEOUT_MS = 60_000

/** Binds a deployment to one incarnation of its owner: a later owner of the same name must not serve its image. */
export async function bindToOwner(pass: RecordPass): Promise<Outcome> {
  const { object, records } = pass
  const { ownerCollection, ownerName } = object.spec
  const bound = object.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
  const owner = ownerOf(pass)
  const isReferenced = object.metadata.ownerReferences?.some(({ uid }) => uid === owner?.metadata.uid) === true
  const isBoundToIt = owner !== undefined && bound === incarnationOf(owner)
  if (isBoundToIt && isReferenced) return done()
  if (bound !== '' && !isBoundToIt) return removeOrphan(pass)
  if (owner === undefined) {
    const remainingMs = createdAt(object) + OWNER_TIMEOUT_MS - pass.clock.now()
    if (remainingMs <= 0) return removeOrphan(pass)
    return stalled('ReferenceMissing', `There is no "${ownerName}" of ${ownerCollection} in the group.`, remainingMs)
  }
  const { apiVersion, kind, metadata } = owner
  // It was made for an earlier owner of this name, which was deleted before this pass.
  if (!isOwner(owner, object)) return removeOrphan(pass)
  // The owner's controller is about to set the incarnation; a deployment bound to anything else would be orphaned.
  if ((metadata.annotations?.[INCARNATION_ANNOTATION] ?? '') === '')
    return waiting('WaitingForDependency', `"${ownerName}" of ${ownerCollection} is being set up.`)
  const reference = {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: false,
  }
  const annotations = { [OWNER_INCARNATION_ANNOTATION]: incarnationOf(owner) }
  const patch = { metadata: { ownerReferences: [reference], annotations } }
  await records.client.mergePatch(DeploymentRecord.resource, refOf(object), patch, { uid: object.metadata.uid })
  return done()
}

const createdAt = ({ metadata }: KubeObject) => Date.parse(metadata.creationTimestamp ?? '')

/** Whether the deployment is bound to this owner, or is unbound and not older than it. */
function isOwner(owner: KubeObject, record: KubeObject): boolean {
  const bound = record.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
  return bound === '' ? !(createdAt(owner) > createdAt(record)) : bound === incarnationOf(owner)
}

/** Deletes a deployment whose owner is gone. Asks the API server, because the cache may be stale. */
async function removeOrphan(pass: RecordPass): Promise<Outcome> {
  const { object, records } = pass
  const kind = kindOf(object.spec.ownerCollection)
  if (kind === undefined) return done()
  const { namespace } = refOfPass(pass)
  const { ownerCollection, ownerName } = object.spec
  const owner = await records.client.get(kind.resource, { namespace, name: ownerName }).catch(absent)
  const isBound = OWNER_INCARNATION_ANNOTATION in (object.metadata.annotations ?? {})
  const remainingMs = owner === undefined && isBound ? ownerRestoreMs(object as KubeObject, pass.clock.now()) : 0
  if (remainingMs > 0)
    return waiting('WaitingForDependency', `There is no "${ownerName}" of ${ownerCollection} yet.`, remainingMs)
  if (owner === undefined || !isOwner(owner, object)) {
    await records.client.remove(DeploymentRecord.resource, refOf(object), { uid: object.metadata.uid })
  }
  return waiting('TearingDown', `"${ownerName}" of ${ownerCollection} is gone; its deployment is deleted too.`)
}
