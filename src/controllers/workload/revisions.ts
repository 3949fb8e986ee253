import {
  isRevisionOf,
  newestRevision,
  nextRevision,
  type Revision,
  revisionOf,
  revisionsToDelete,
  type WantedRevision,
} from '../../contracts/revisions.ts'
import { ownerLabelSelector } from '../../contracts/workloads.ts'
import { ACTOR_ANNOTATION } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import { type KubeObject, type ObjectMeta, refOf } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { controllerRevision } from '../../kube/builtin.ts'
import type { Pass, Rights } from '../engine/controller.ts'
import { refOfPass } from './pass.ts'

/**
 * Rights of a controller that keeps revisions. They are read when a new one is due, and not watched. Revisions hold
 * former specs, so they are stored next to the resources, even if the workload's cluster is unreachable.
 */
export const REVISION_RIGHTS: Rights = {
  resource: controllerRevision,
  verbs: ['get', 'list', 'create', 'patch', 'delete'],
  in: 'records',
}

/** Status fields that describe the newest revision, so that revisions need not be read. */
export type RevisionStatus = {
  revision?: number | undefined
  revisionHash?: string | undefined
  partRevisions?: Record<string, number> | undefined
}

type RevisionPass = Pick<Pass, 'recordChildren' | 'records' | 'now'> & {
  report(fields: object): void
  object: { kind: string; metadata: ObjectMeta; status?: RevisionStatus | undefined }
}
type StoredRevision = KubeObject & { revision?: number; data?: unknown }

/**
 * Stores a revision of the content if it differs from the newest, and reports its number.
 *
 * @param nameOf returns the name of the ControllerRevision with a number
 * @param shown returns the status fields about all stored revisions, newest first
 * @returns by part the revision since which it is unchanged, and the newest revision if it was read
 */
export async function keepRevision<Content>(
  pass: RevisionPass,
  nameOf: (number: number) => string,
  wanted: WantedRevision<Content>,
  shown: (known: readonly Revision<Content>[]) => object = () => ({}),
): Promise<{ since: Readonly<Record<string, number>>; newest: Revision<Content> | undefined }> {
  const { status = {}, metadata } = pass.object
  const revisionHash = sha256(JSON.stringify([wanted.content, wanted.redeployedAt])).slice(0, 16)
  if (status.revisionHash === revisionHash && status.partRevisions !== undefined)
    return { since: status.partRevisions, newest: undefined }
  const labelled = await labelledRevisions(pass)
  const stored = labelled.filter((one) => isRevisionOf(one.metadata, metadata))
  const known = stored.flatMap((one) => revisionOf<Content>(one) ?? [])
  const next = nextRevision(known, wanted, { at: pass.now, by: actorOf(metadata) })
  if (next !== undefined) {
    await removeFormerRevision(pass, labelled, nameOf(next.number))
    await write(pass, nameOf(next.number), next)
  }
  const deleted = next === undefined ? [] : await prune(pass, stored, next)
  const current = next ?? newestRevision(known)
  const all = [...known, ...(next === undefined ? [] : [next])]
    .filter(({ number }) => !deleted.includes(number))
    .sort((one, other) => other.number - one.number)
  const partRevisions = current?.since ?? {}
  pass.report({ ...shown(all), revision: current?.number, revisionHash, partRevisions })
  return { since: partRevisions, newest: current }
}

async function storedRevisions(pass: RevisionPass): Promise<StoredRevision[]> {
  return (await labelledRevisions(pass)).filter((one) => isRevisionOf(one.metadata, pass.object.metadata))
}

/** Includes revisions of earlier incarnations. */
async function labelledRevisions({ object, records }: RevisionPass): Promise<StoredRevision[]> {
  const { namespace, name } = refOfPass({ object })
  const labelSelector = ownerLabelSelector(object.kind, name)
  return (await records.client.list<StoredRevision>(controllerRevision, { namespace, labelSelector })).items
}

/**
 * Deletes a revision of an earlier incarnation, after a forced deletion, that has the new name. Waiting for the garbage
 * collector would not work, because revisions are not watched.
 */
async function removeFormerRevision(
  pass: RevisionPass,
  labelled: readonly StoredRevision[],
  name: string,
): Promise<void> {
  const former = labelled.find(({ metadata }) => metadata.name === name)
  if (former === undefined || isRevisionOf(former.metadata, pass.object.metadata)) return
  const { uid } = former.metadata
  await pass.records.client.remove(controllerRevision, refOf(former), { uid })
}

async function write<Content>(pass: RevisionPass, name: string, { number, ...data }: Revision<Content>): Promise<void> {
  const { namespace } = refOfPass(pass)
  const { apiVersion, kind } = { apiVersion: 'apps/v1', kind: controllerRevision.kind }
  // JSON drops undefined fields.
  const desired = {
    apiVersion,
    kind,
    metadata: { name, namespace },
    revision: number,
    data: JSON.parse(JSON.stringify(data)),
  }
  // The number is new, so it only exists if an earlier pass was interrupted after this write.
  if ((await pass.recordChildren.create(desired, { resource: controllerRevision })) !== undefined) return
  await pass.recordChildren.ensure(desired, { resource: controllerRevision })
}

/** @returns the numbers of the deleted ones */
async function prune<Content>(
  pass: RevisionPass,
  stored: readonly StoredRevision[],
  { number, ...newest }: Revision<Content>,
): Promise<number[]> {
  const bytesOf = (data: unknown) => Buffer.byteLength(JSON.stringify(data) ?? '')
  const sizes = stored.map(({ revision = 0, data }) => ({ number: revision, bytes: bytesOf(data) }))
  const deleted = revisionsToDelete([...sizes, { number, bytes: bytesOf(newest) }])
  for (const one of stored) {
    if (deleted.includes(one.revision ?? 0))
      await pass.records.client.remove(controllerRevision, refOf(one), { uid: one.metadata.uid })
  }
  return deleted
}

/** Returns who wrote the newest generation; undefined if it was not written through REST. */
function actorOf({ annotations, generation }: ObjectMeta): string | undefined {
  const [of, principal] = (annotations?.[ACTOR_ANNOTATION] ?? '').split(' ')
  return Number(of) === generation ? principal : undefined
}

/** Deletes the revisions with the resource, so that a later one of this name starts at the first. */
export async function removeRevisions(pass: RevisionPass): Promise<Outcome> {
  for (const one of await storedRevisions(pass)) {
    await pass.records.client.remove(controllerRevision, refOf(one), { uid: one.metadata.uid })
  }
  return done()
}
