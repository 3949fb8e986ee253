import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ActivityStore, Entry, ResourceEntry, ResourcePath } from '../../adapters/activity/port.ts'
import { CHANNELS, MAX_CLOCK_SKEW_MS, OUTCOMES, RETENTION_DAYS } from '../../contracts/activity.ts'
import type { ActionName } from '../../core/actions.ts'
import { DAY_MS } from '../../core/clock.ts'
import { notFound, type PlatformError, permissionMissing, refusedFields } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { redacted } from '../../core/redaction.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { matching, PlainText, Prose } from '../../crds/fields.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { formerScope } from '../../iam/formerScope.ts'
import type { Principal } from '../callers/principals.ts'
import { boundaryScope, findVisibleBoundary, requireActionBelow, visibleBoundaryAuth } from '../callers/visibility.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { currentObjectOf, kindOfSegment, resourceExists, scopeOf } from '../records/activity/subjects.ts'
import { listWithConfig } from '../resources/collection/columns.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { findGroup } from '../resources/find.ts'
import { deniedReadActionAt } from '../resources/holders.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { actionOf } from '../resources/types.ts'

const ACTOR_TYPES = ['User', 'ServicePrincipal', 'Platform', 'Kubernetes'] as const

const ActivityActor = namedRecord('ActivityActor', {
  principalId: Uuid.nullable(),
  principalType: z.enum(ACTOR_TYPES).describe('Kubernetes: known only to the cluster, by its name there'),
  displayName: z.string().describe('The current name; the id of a deleted principal'),
})

const Value = z.union([z.string(), z.number(), z.boolean()]).meta({ id: 'ActivityValue' }).nullable()
const ActivityChange = z
  .object({ path: z.string().describe('JSON pointer below the spec'), from: Value, to: Value })
  .describe('Secrets are "***" on both sides')
  .meta({ id: 'ActivityChange' })

export const ActivityEntry = namedRecord('ActivityEntry', {
  id: Uuid,
  occurredAt: DateTime,
  action: z.string().describe("The action of access control; for reported entries, the caller's own word"),
  operation: z.string().nullable(),
  resourceType: z.string(),
  resourceName: z.string(),
  resourceGroup: z.string().describe('Empty in what is told of the boundary itself'),
  boundaryId: Uuid,
  scope: z.string(),
  actor: ActivityActor,
  channel: z.enum(CHANNELS).describe('Reported: written by a caller, not seen by the platform'),
  outcome: z.enum(OUTCOMES),
  statusCode: z.int().nullable(),
  message: z.string().nullable(),
  changes: z.array(ActivityChange),
  metadata: z.record(z.string(), z.string()),
  correlationId: z.string().nullable(),
  traceId: z.string().nullable(),
  remoteAddress: z.string().nullable(),
})
type ActivityEntry = z.output<typeof ActivityEntry>

function entryDto(entry: Entry, resource: ResourcePath, known: ReadonlyMap<string, Principal>): ActivityEntry {
  return wholeRecord(ActivityEntry, {
    ...entry,
    ...resource,
    scope: scopeOf(resource),
    actor: actorDto(entry, known),
    changes: [...entry.changes],
  })
}

function actorDto({ actor }: Entry, known: ReadonlyMap<string, Principal>): ActivityEntry['actor'] {
  if ('platform' in actor) return { principalId: null, principalType: 'Platform', displayName: 'Freehold' }
  if ('kubernetes' in actor) return { principalId: null, principalType: 'Kubernetes', displayName: actor.kubernetes }
  const { principalId } = actor
  const { principalType: type, displayName } = known.get(principalId) ?? {}
  const principalType = type === 'ServicePrincipal' ? type : 'User'
  return { principalId, principalType, displayName: displayName ?? principalId }
}

declare module '../http/context.ts' {
  interface Services {
    readonly activity: ActivityStore
  }
}

const ACTIVITY = '{B}/resourcegroups/{resourceGroup}/resources/{resourceType}/{resourceName}/activity'
const READ = 'kernel/activity/read'
const WRITE = 'kernel/activity/write'
const METADATA_BYTES_MAX = 2_048

const ActivityRequest = strictRecord('ActivityRequest', {
  action: matching(
    128,
    /^[a-z][A-Za-z0-9.]*$/,
    'must be letters, digits and dots, and begin with a lower-case letter',
  ).describe('What was done, such as deploy.started'),
  resourceType: z.string().max(63).describe('Collection of the resource, such as apps'),
  resourceName: z.string().max(63).describe('Name of the resource'),
  resourceGroup: z.string().max(63).describe('Group of the resource'),
  outcome: z.enum(['Succeeded', 'Failed', 'Started']).default('Succeeded').describe('How it ended, if it has'),
  message: Prose.max(2_048).nullish().describe('The same in words for people'),
  metadata: z
    .record(PlainText.min(1).max(128), PlainText.max(1_024))
    .refine((pairs) => Object.keys(pairs).length <= 50, 'must have at most 50 pairs')
    .nullish()
    .describe('Further facts, at most 50 pairs'),
  occurredAt: DateTime.nullish().describe('When it was done; now when absent'),
  correlationId: Uuid.nullish().describe('The x-correlation-id of the requests that did it'),
})

/** Activity reveals the state of its resource. @throws PlatformError FORBIDDEN if a deny is or was on reading it */
function refuseDenied(context: Context, resource: ResourcePath): void {
  const kind = kindOfSegment(resource.resourceType)
  if (kind === undefined) return
  const scope = scopeOf(resource)
  const earlierScope = resourceExists(context.services.records, resource) ? undefined : formerScope(scope)
  const read =
    deniedReadActionAt(context, kind, scope) ?? (earlierScope && deniedReadActionAt(context, kind, earlierScope))
  if (read !== undefined) throw permissionMissing(read, scope)
}

/** Returns a filter that hides earlier incarnations of the resource; undefined if no deny hid them from the caller. */
function visibleEntriesFilter(context: Context, resource: ResourcePath): ((entry: Entry) => boolean) | undefined {
  const earlierScope = formerScope(scopeOf(resource))
  const { services, caller } = context
  const isDenied = (one: ActionName) =>
    earlierScope !== undefined &&
    services.access.explain(caller.principalId, one, earlierScope).reason === 'DeniedByAssignment'
  if (!readActionsOf(resource).some(isDenied)) return undefined
  const present = currentObjectOf(services.records, resource)
  return present === undefined ? () => false : incarnationFilter(present, true)
}

/** @throws PlatformError FORBIDDEN, NOT_FOUND if there is neither a resource nor activity */
async function entriesOf(context: Context) {
  const { services } = context
  const resource = context.parameters as ResourcePath
  refuseDenied(context, resource)
  const group = await findGroup(context, resource.boundaryId, resource.resourceGroup)
  const entries = ((await services.activity.read(resource)) ?? [])
    .filter(incarnationFilter(group, resource.resourceType === ResourceGroup.segment))
    .filter(visibleEntriesFilter(context, resource) ?? (() => true))
  if (entries.length === 0 && !resourceExists(services.records, resource)) throw activityNotFound(resource)
  return entryDtos(
    context,
    resource.boundaryId,
    entries.map((entry) => ({ resource, entry })),
  )
}

/** Milliseconds that a request may take before the object it creates exists. */
const CREATION_MAX_MS = 60_000

/**
 * Returns a filter for entries of this incarnation: readers of a group may not see activity of an earlier namesake.
 * @param isOwn whether the entries are about this very object
 */
function incarnationFilter({ metadata }: Pick<KubeObject, 'metadata'>, isOwn: boolean): (entry: Entry) => boolean {
  const since = Date.parse(metadata.creationTimestamp ?? '')
  return ({ occurredAt, reportedAt, statusCode, made = metadata.uid }) => {
    const isCreation = isOwn && statusCode === 201 && made === metadata.uid
    return !(Date.parse(reportedAt ?? occurredAt) < since - (isCreation ? CREATION_MAX_MS : 0))
  }
}

/**
 * Returns the activity of all that the caller may read. Deleted resources are checked too, or the list would name what
 * a deny hides. Activity of deleted groups needs the right on the whole boundary: rights at a group end with it.
 */
async function entriesOfBoundary(context: Context<'boundaryId'>) {
  const { services, caller, parameters, fresh } = context
  const { boundaryId } = parameters
  const boundary = await findVisibleBoundary(context, boundaryId)
  const all = await services.records.list(ResourceGroup, { namespace: boundaryNamespace(boundaryId) }, { fresh })
  const groups = new Map(all.map((group) => [group.metadata.name, group]))
  const readsWholeBoundary = services.access.isAllowed(caller.principalId, READ, boundaryScope(boundaryId))
  const entries = await services.activity.newest(boundaryId, (resource) => {
    if (!mayReadRecord(context, resource)) return undefined
    const group = groups.get(resource.resourceGroup)
    const isOfIncarnation = readsWholeBoundary
      ? incarnationFilter(boundary, resource.resourceType === Boundary.segment)
      : group && incarnationFilter(group, resource.resourceType === ResourceGroup.segment)
    const isVisible = visibleEntriesFilter(context, resource)
    return isOfIncarnation && isVisible ? (entry) => isOfIncarnation(entry) && isVisible(entry) : isOfIncarnation
  })
  return entryDtos(context, boundaryId, entries)
}

function mayReadRecord({ services, caller }: Context, resource: ResourcePath): boolean {
  return readActionsOf(resource).every((one) => services.access.isAllowed(caller.principalId, one, scopeOf(resource)))
}

function readActionsOf({ resourceType }: ResourcePath): readonly ActionName[] {
  const kind = kindOfSegment(resourceType)
  return [READ, ...(kind === undefined ? [] : [actionOf(kind, 'read')])]
}

async function entryDtos(
  { services }: Context,
  boundaryId: string,
  entries: readonly ResourceEntry[],
): Promise<ActivityEntry[]> {
  const ids = entries.flatMap(({ entry: { actor } }) => ('principalId' in actor ? [actor.principalId] : []))
  const known = await services.principals.find(new Set(ids), boundaryId)
  return entries.map(({ entry, resource }) => entryDto(entry, resource, known))
}

function activityNotFound({ resourceType, resourceName, resourceGroup }: ResourcePath): PlatformError {
  return notFound(`"${resourceName}" of ${resourceType} in group "${resourceGroup}"`)
}

async function report(context: Context<'boundaryId', unknown, z.output<typeof ActivityRequest>>) {
  const { services, parameters, body, caller, correlationId, address } = context
  const { resourceGroup, resourceType, resourceName } = body
  const resource = { boundaryId: parameters.boundaryId, resourceGroup, resourceType, resourceName }
  await requireActionBelow(context, WRITE, scopeOf(resource))
  await findGroup(context, resource.boundaryId, resourceGroup)
  if (!resourceExists(services.records, resource)) throw activityNotFound(resource)
  const now = services.clock.now()
  const occurredAt = body.occurredAt ? Date.parse(body.occurredAt) : now
  if (occurredAt > now + MAX_CLOCK_SKEW_MS) throw refused('occurredAt', 'is more than five minutes in the future')
  if (occurredAt < now - RETENTION_DAYS * DAY_MS)
    throw refused('occurredAt', `is more than ${RETENTION_DAYS} days ago: it would not be kept`)
  const pairs = Object.entries(body.metadata ?? {}).map(([name, value]) => [redacted(name), redactPair(name, value)])
  const metadata = Object.fromEntries(pairs)
  if (Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES_MAX)
    throw refused('metadata', `has more than ${METADATA_BYTES_MAX} bytes as JSON`)
  const id = randomUUID()
  await services.activity.append(resource, [
    {
      id,
      occurredAt: new Date(occurredAt).toISOString(),
      reportedAt: new Date(now).toISOString(),
      action: body.action,
      actor: { principalId: caller.principalId },
      channel: 'Reported',
      outcome: body.outcome,
      message: body.message ? redacted(body.message) : undefined,
      metadata,
      correlationId: body.correlationId ?? correlationId,
      remoteAddress: address,
    },
  ])
  return ok(id)
}

/** Redacts a value whose name marks it as a secret, as in `password=...`. */
function redactPair(name: string, value: string): string {
  const pair = redacted(`${name}=${value}`)
  return pair.startsWith(`${name}=`) ? pair.slice(name.length + 1) : redacted(value)
}

const refused = (field: string, message: string) => refusedFields([{ field, message }])

const list = {
  errors: 'problem',
  dto: ActivityEntry,
  sort: '-occurredAt',
  collection: 'activity',
  actionPrefix: 'kernel/activity',
  unfollowed: 'the activity log',
} as const

const columns = {
  occurredAt: dateTime<ActivityEntry>('Time'),
  action: text<ActivityEntry>('Action', { isSearched: true }),
  actor: text<ActivityEntry>('Actor', {
    of: ({ actor }) => actor.principalId ?? actor.displayName,
    isSorted: false,
    isSearched: true,
  }),
  outcome: enumeration<ActivityEntry>('Outcome', OUTCOMES, { isSorted: false }),
  channel: enumeration<ActivityEntry>('Channel', CHANNELS, { isSorted: false }),
}

export const activityRoutes: readonly RouteDraft[] = [
  route('POST', '{B}/activity', {
    auth: action(WRITE),
    summary: 'Report an action on a resource that the platform does not see itself',
    errors: 'problem',
    body: ActivityRequest,
    reply: Uuid,
    handler: report,
  }),
  ...listWithConfig(ACTIVITY, {
    auth: action(READ),
    ...list,
    columns,
    summary: 'The activity of a resource, newest first',
    further: 'the read action of the resource, where a deny takes that',
    rows: entriesOf,
    before: entriesOf,
  }),
  ...listWithConfig('{B}/activity', {
    auth: visibleBoundaryAuth(
      'what was done to that at which the caller has `kernel/activity/read` and which they may read',
    ),
    ...list,
    columns: {
      ...columns,
      resourceGroup: text<ActivityEntry>('Group', { isSorted: false, isSearched: true }),
      resourceType: text<ActivityEntry>('Type', { isSorted: false }),
      resourceName: text<ActivityEntry>('Name', { isSorted: false, isSearched: true }),
    },
    summary: 'The newest activity of all resources of a boundary, as far as the caller may read it',
    rows: (context) => entriesOfBoundary(context as Context<'boundaryId'>),
    before: (context) => findVisibleBoundary(context, context.parameters.boundaryId ?? ''),
  }),
]
