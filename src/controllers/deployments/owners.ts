import { DEPLOYED_COLLECTIONS, type DeployedCollection, type Release } from '../../contracts/deployments.ts'
import { INCARNATION_ANNOTATION, OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, keyOf, objectKey, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { KINDS } from '../../crds/index.ts'
import { absent } from '../../kube/errors.ts'
import type { Observed, Pass, Workspace } from '../engine/controller.ts'
import { placeOfPass } from '../workload/pass.ts'

/** What is deployed: whatever of the collections this platform serves. */

export type CachedRecord = DeploymentRecord & { [key: string]: unknown }
export type RecordPass<State = unknown> = Pass<typeof DeploymentRecord, State>
export type Owner = KubeObject & {
  spec?: { cancelledDeployment?: string | undefined }
  status?: { release?: Release | undefined; servingDeployment?: string | undefined } | undefined
}

function kindOf(collection: DeployedCollection): AnyKind | undefined {
  return KINDS.find(({ segment }) => segment === collection)
}

export const OWNER_KINDS: readonly AnyKind[] = DEPLOYED_COLLECTIONS.flatMap((collection) => kindOf(collection) ?? [])

/** The deployments of one owner. */
export function deploymentsOf(
  records: Workspace,
  { namespace, collection, name }: { namespace: string | undefined; collection: string; name: string },
): CachedRecord[] {
  return records
    .cache(DeploymentRecord)
    .list({ namespace })
    .filter(({ spec }) => spec.ownerCollection === collection && spec.ownerName === name)
}

/** The deployments of this very life of an owner: those of a former one of its name are on their way out. */
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

/** Wakes the owner of a deployment by what it looks at. */
export function deploymentObserver({ segment }: AnyKind): Observed {
  return {
    resource: DeploymentRecord.resource,
    relevant: (record) => {
      const { metadata, spec, status } = record as CachedRecord
      const { stage, image, number, lastMessage } = status ?? {}
      const life = metadata.annotations?.[OWNER_INCARNATION_ANNOTATION]
      return [metadata.deletionTimestamp, life, spec, stage, image, number, lastMessage]
    },
    keysOf: (record) => {
      const { spec, metadata } = record as CachedRecord
      return spec.ownerCollection === segment ? [objectKey(metadata.namespace, spec.ownerName)] : []
    },
  }
}

/** A record wakes the others of its owner, and an owner those that are not over. */
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

const lifeOf = ({ metadata }: KubeObject) => metadata.annotations?.[INCARNATION_ANNOTATION] || (metadata.uid ?? '')

/** Milliseconds within which the owner of a deployment is seen: it was there when the deployment was asked for. */
const OWNER_DUE = 60_000

/** A deployment belongs to one life of its owner, and goes with it: a namesake made later does not serve its image. */
export async function bindToOwner(pass: RecordPass): Promise<Outcome> {
  const { object, records } = pass
  const { ownerCollection, ownerName } = object.spec
  const bound = object.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
  const owner = ownerOf(pass)
  if (owner !== undefined && bound === lifeOf(owner)) return done()
  if (bound !== '') return removeOrphan(pass)
  if (owner === undefined) {
    const left = createdAt(object) + OWNER_DUE - pass.clock.now()
    if (left <= 0) return removeOrphan(pass)
    return stalled('ReferenceMissing', `There is no "${ownerName}" of ${ownerCollection} in the group.`, left)
  }
  const { apiVersion, kind, metadata } = owner
  // Asked for at a former one, which went before anybody looked.
  if (!isOwner(owner, object)) return removeOrphan(pass)
  // Its controller gives it one in a moment. Bound to anything else, the deployment would then be one of somebody else.
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
  const annotations = { [OWNER_INCARNATION_ANNOTATION]: lifeOf(owner) }
  const patch = { metadata: { ownerReferences: [reference], annotations } }
  await records.client.mergePatch(DeploymentRecord.resource, refOf(object), patch, { uid: object.metadata.uid })
  return done()
}

const createdAt = ({ metadata }: KubeObject) => Date.parse(metadata.creationTimestamp ?? '')

/** Of one that is bound to no life yet, whoever was there when it was asked for. */
function isOwner(owner: KubeObject, record: KubeObject): boolean {
  const bound = record.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] ?? ''
  return bound === '' ? !(createdAt(owner) > createdAt(record)) : bound === lifeOf(owner)
}

/** The cache may be behind: only the API server knows that the owner is gone. */
async function removeOrphan(pass: RecordPass): Promise<Outcome> {
  const { object, records } = pass
  const kind = kindOf(object.spec.ownerCollection)
  if (kind === undefined) return done()
  const { namespace } = placeOfPass(pass)
  const left = await records.client.get(kind.resource, { namespace, name: object.spec.ownerName }).catch(absent)
  if (left === undefined || !isOwner(left, object)) {
    await records.client.remove(DeploymentRecord.resource, refOf(object), { uid: object.metadata.uid })
  }
  return waiting(
    'TearingDown',
    `"${object.spec.ownerName}" of ${object.spec.ownerCollection} is gone; its deployment is deleted too.`,
  )
}
