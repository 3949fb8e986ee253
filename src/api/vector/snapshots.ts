import { z } from 'zod'
import { notFound, PlatformError } from '../../core/errors.ts'
import { pluralize } from '../../core/pluralize.ts'
import { Description, ResourceName } from '../../crds/fields.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { SNAPSHOTS_MAX, type TakenSnapshot } from '../../crds/vectorSnapshots.ts'
import { accepted, acceptedEmpty, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { changeResource } from '../resources/change.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, wholeRecord } from '../resources/dto.ts'
import { findResource, locateResource } from '../resources/find.ts'
import { invalidState } from '../resources/invalidState.ts'
import { dateTime, enumeration, number, text } from '../resources/paging.ts'
import { snapshotName } from '../resources/snapshotName.ts'
import type { VectorObject } from './record.ts'

const STATES = ['Pending', 'Running', 'Completed', 'Failed', 'Deleting'] as const

const VectorSnapshotDto = namedRecord('VectorSnapshotDto', {
  name: z.string(),
  description: z.string().nullable(),
  status: z.enum(STATES),
  statusMessage: z.string().nullable(),
  sizeBytes: z.int().describe('Of all its files so far'),
  startedAt: DateTime.nullable(),
  completedAt: DateTime.nullable(),
  files: z
    .array(z.object({ peer: z.string(), collection: z.string(), file: z.string(), sizeBytes: z.int() }))
    .describe('One for each collection at each peer, on the volume of that peer'),
})
type VectorSnapshotDto = z.output<typeof VectorSnapshotDto>

const CreateVectorSnapshotRequest = strictRecord('CreateVectorSnapshotRequest', {
  name: ResourceName.nullish().describe('What it is called; of the time when absent, such as manual-20260101120000'),
  description: Description.nullish(),
})

/** Returns requested snapshots, and those whose files are still being deleted. */
export function snapshotsOf({ spec, status }: VectorObject): VectorSnapshotDto[] {
  const existing = status?.snapshots ?? []
  const undeclared = existing.filter(({ name }) => !spec.snapshots.some((one) => one.name === name))
  const declared = spec.snapshots.map(({ name, description }) => {
    const found = existing.find((one) => one.name === name) ?? { name, files: [] }
    return snapshotDto(found, stateOf(found), description)
  })
  return [...declared, ...undeclared.map((found) => snapshotDto(found, 'Deleting'))]
}

function snapshotDto(
  found: TakenSnapshot,
  status: VectorSnapshotDto['status'],
  description?: string,
): VectorSnapshotDto {
  const sizeBytes = found.files.reduce((sum, file) => sum + file.sizeBytes, 0)
  return wholeRecord(VectorSnapshotDto, { ...found, description, status, statusMessage: found.failure, sizeBytes })
}

function stateOf({ isLeaving, startedAt, completedAt, failure }: TakenSnapshot): VectorSnapshotDto['status'] {
  if (isLeaving === true) return 'Deleting'
  if (failure !== undefined) return 'Failed'
  return completedAt !== undefined ? 'Completed' : startedAt !== undefined ? 'Running' : 'Pending'
}

/** @throws PlatformError NOT_FOUND */
function snapshotIn(object: VectorObject, name: string): VectorSnapshotDto {
  const found = snapshotsOf(object).find((one) => one.name === name)
  if (found === undefined) throw notFound(`Snapshot "${name}" of "${object.metadata.name}"`)
  return found
}

/** @throws PlatformError SNAPSHOT_RUNNING, ALREADY_EXISTS, QUOTA_EXCEEDED */
function refuseTooMany(stored: VectorObject, given: string | undefined): void {
  const { metadata, spec } = stored
  const all = snapshotsOf(stored)
  if (all.some((one) => one.name === given))
    throw new PlatformError('ALREADY_EXISTS', `Snapshot "${given}" of "${metadata.name}" already exists.`)
  const running = all.find((one) => one.status === 'Pending' || one.status === 'Running')
  if (running !== undefined) {
    const message = `Snapshot "${running.name}" of "${metadata.name}" is being taken.`
    throw new PlatformError('SNAPSHOT_RUNNING', message, { snapshotId: running.name })
  }
  const used = spec.snapshots.length
  if (used < SNAPSHOTS_MAX) return
  const message = `"${metadata.name}" has ${pluralize(used, 'snapshot')}, as many as it may have: delete one first.`
  throw new PlatformError('QUOTA_EXCEEDED', message, { quota: 'snapshots', limit: SNAPSHOTS_MAX, used, requested: 1 })
}

/**
 * Decides on the stored object within the write, so that of concurrent requests only one starts a snapshot.
 * @throws PlatformError INVALID_STATE, SNAPSHOT_RUNNING, ALREADY_EXISTS, QUOTA_EXCEEDED
 */
async function takeSnapshot(context: Context<string, unknown, z.output<typeof CreateVectorSnapshotRequest>>) {
  const { services, body } = context
  const now = services.clock.now()
  const located = await locateResource(context as Context, 'name')
  let name = ''
  const { object } = await changeResource(VectorCluster, located, context, (stored) => {
    const { spec, metadata } = stored
    if (!spec.running || spec.replicas === 0)
      throw invalidState(stored, `"${metadata.name}" is stopped: start it first.`)
    refuseTooMany(stored, body.name ?? undefined)
    const existingNames = snapshotsOf(stored).map((one) => one.name)
    name = body.name ?? snapshotName(now, existingNames)
    return {
      ...spec,
      snapshots: [...spec.snapshots, { name, ...(body.description && { description: body.description }) }],
    }
  })
  return accepted(snapshotIn(object, name), { etag: etagOf(object) })
}

/** The files are deleted once all peers run. @throws PlatformError NOT_FOUND */
async function deleteSnapshot(context: Context<'snapshotName'>) {
  const name = context.parameters.snapshotName
  const located = await locateResource(context as Context, 'name')
  await changeResource(VectorCluster, located, context, (stored) => {
    snapshotIn(stored, name)
    return { ...stored.spec, snapshots: stored.spec.snapshots.filter((one) => one.name !== name) }
  })
  return acceptedEmpty()
}

/** `.../snapshots`: snapshots of the collections of a database. */
export function snapshotRoutes(base: string): RouteDraft[] {
  const path = `${base}/snapshots`
  const one = `${path}/{snapshotName}` as const
  const [read, write] = [action('vectorcluster/read'), action('vectorcluster/write')]
  return [
    listRoute(path, {
      auth: read,
      summary: 'Snapshots of its collections',
      dto: VectorSnapshotDto,
      columns: {
        name: text('Name', { isSearched: true }),
        status: enumeration('Status', STATES, { isSorted: false }),
        startedAt: dateTime('Started'),
        completedAt: dateTime('Completed'),
        sizeBytes: number('Size', { isFiltered: false }),
      },
      sort: '-startedAt',
      id: 'name',
      rows: async (context) => snapshotsOf((await findResource(VectorCluster, context)).object),
    }),
    route('GET', one, {
      auth: read,
      summary: 'One snapshot',
      reply: VectorSnapshotDto,
      handler: async (context) => {
        const { object } = await findResource(VectorCluster, context as Context)
        return ok(snapshotIn(object, context.parameters.snapshotName), { etag: etagOf(object) })
      },
    }),
    route('POST', path, {
      auth: write,
      isHeld: true,
      summary: 'Take a snapshot of all collections',
      body: CreateVectorSnapshotRequest,
      reply: VectorSnapshotDto,
      answers: [202],
      handler: takeSnapshot,
    }),
    route('DELETE', one, {
      auth: write,
      summary: 'Delete a snapshot with its files',
      answers: [202],
      handler: (context) => deleteSnapshot(context as Context<'snapshotName'>),
    }),
  ]
}
