import { uuidV5 } from '../core/ids.ts'
import { INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION } from '../core/labels.ts'
import { type KubeObject, keyOf, type Resource, refOf } from '../core/object.ts'
import { done, type Outcome, waiting } from '../core/outcome.ts'
import type { AnyKind } from '../crds/define.ts'
import {
  incarnationsNamedBy,
  PRINCIPAL_RESOURCES,
  type PrincipalLookup,
  principalAt,
  principalIncarnations,
  principalsNamedBy,
} from '../crds/principals.ts'
import { PrincipalGroup } from '../crds/rbac.ts'
import { type Controller, controller, type Pass, type Rights } from './engine/controller.ts'
import { UNBOUND_PRINCIPAL_INDEX } from './engine/principalIndex.ts'

/** Milliseconds until an object that was just written is checked again. */
const RECHECK_DELAY_MS = 1_000

/** For giving an incarnation to principals created with kubectl. */
export const PRINCIPAL_RIGHTS: readonly Rights[] = PRINCIPAL_RESOURCES.map((resource) => ({
  resource,
  verbs: ['patch'],
}))

/**
 * Records the incarnations of the principals in a record written with kubectl or Git: those that have the ids now. A
 * later principal with the id of a deleted one is not meant.
 */
export async function bindToPrincipals(pass: Pass): Promise<Outcome> {
  const record = pass.object as KubeObject & { spec: object }
  const find: PrincipalLookup = (resource, namespace, name) => pass.records.cache(resource).get(namespace, name)
  const { namespace, annotations } = record.metadata
  const ids = principalsNamedBy(pass.kind, record.spec)
  const named = incarnationsNamedBy(record)
  for (const { resource, object } of ids
    .filter((id) => named[id] === undefined)
    .flatMap((id) => principalAt(find, id, namespace) ?? []))
    await assignIncarnation(pass, resource, object)
  const wanted = principalIncarnations(find, ids, namespace, named)
  if (wanted === annotations?.[PRINCIPAL_INCARNATIONS_ANNOTATION]) return done()
  await writeIncarnations(pass, record, wanted ?? null)
  // The write wakes us again, with the version that the next steps need.
  return waiting('WaitingForDependency', 'The principals were recorded.', RECHECK_DELAY_MS)
}

/** @param text from `principalIncarnations`; null removes it */
export async function writeIncarnations(
  { records, kind }: Pick<Pass, 'records' | 'kind'>,
  record: KubeObject,
  text: string | null,
): Promise<void> {
  const { uid, resourceVersion } = record.metadata
  const patch = { metadata: { annotations: { [PRINCIPAL_INCARNATIONS_ANNOTATION]: text } } }
  await records.client.mergePatch(kind.resource, refOf(record), patch, { uid, resourceVersion })
}

/** Gives an incarnation to a principal that kubectl or Git has just created. */
export async function assignIncarnation({ records }: Pick<Pass, 'records'>, resource: Resource, object: KubeObject) {
  const { annotations, uid, resourceVersion } = object.metadata
  if (annotations?.[INCARNATION_ANNOTATION] !== undefined) return
  const patch = { metadata: { annotations: { [INCARNATION_ANNOTATION]: uuidV5(`principal/${uid}`) } } }
  await records.client.mergePatch(resource, refOf(object), patch, { uid, resourceVersion })
}

/** A new principal wakes records that named it earlier: they mean the first principal with the id. */
export const principalObservers = (kind: AnyKind): Controller['observes'] =>
  PRINCIPAL_RESOURCES.map((resource) => ({
    resource,
    in: 'records',
    relevant: ({ metadata }) => metadata.uid,
    keysOf: ({ metadata }, records) =>
      records.cache(kind.resource).byIndex(UNBOUND_PRINCIPAL_INDEX, metadata.name).map(keyOf),
  }))

export const groupController = controller(PrincipalGroup, {
  observes: principalObservers(PrincipalGroup),
  childrenIn: 'records',
  writes: PRINCIPAL_RIGHTS,
  reconcile: bindToPrincipals as never,
})
