import { z } from 'zod'
import { parseRepository, repositoryObjectName } from '../../contracts/registry/names.ts'
import { timestamp } from '../../core/clock.ts'
import { ignoreNotFound, PlatformError, refusedFields } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import { ACTOR_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { byAge, refOf } from '../../core/object.ts'
import { pluralize } from '../../core/pluralize.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { RegistryPin, RegistryRepository, Repository } from '../../crds/registry.ts'
import { noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagHeader, etagOf, matchesAnyVersion, nothingToMatch, type SeenVersion, staleVersion } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, ignoredFields, Uuid, wholeRecord } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { dateTime, number, text } from '../resources/paging.ts'
import { refusePast } from '../rules/expiry.ts'
import { actionPrefix, mayKnow, scopeOf } from './rights.ts'
import { auditAction, builderAuth, registryOf, requireBuilder } from './service.ts'

type PinObject = RecordOf<typeof RegistryPin>
const { digests, keepLast, keepForDays, expiresAt } = RegistryPin.spec.shape

const PinDto = namedRecord('PinDto', {
  id: Uuid,
  boundary: Uuid,
  repository: z.string(),
  digests: z.array(z.string()),
  keepLast: z.int().nullable(),
  keepForDays: z.int().nullable(),
  expiresAt: DateTime,
  updatedAt: DateTime,
  updatedBy: z.string(),
  missingDigests: z.array(z.string()).describe('Those of digests that the registry does not have'),
})

const storedFields = {
  repository: Repository,
  digests,
  keepLast: keepLast.nullish(),
  keepForDays: keepForDays.nullish(),
  expiresAt,
}
const PinUpsertRequest = strictRecord('PinUpsertRequest', {
  boundary: Uuid,
  ...storedFields,
  ...ignoredFields(['id', 'updatedAt', 'updatedBy', 'missingDigests']),
})

const RepositoryName = z.string().min(1).max(255)
const PinQuery = z.object({
  boundary: Uuid.describe('Id of the boundary'),
  repository: RepositoryName.describe('The repository whose pins go'),
})
const PinsQuery = z.object({
  boundary: Uuid.describe('Id of the boundary'),
  repository: RepositoryName.optional().describe('Only this repository'),
})

/** @throws PlatformError FORBIDDEN, which is audited; BAD_REQUEST for a repository of another boundary */
async function mayPin(context: Context, boundary: string, repository: string): Promise<void> {
  registryOf(context.services)
  const auditFields = { boundary, repository: repository.slice(0, 200), detail: 'pin' }
  await requireBuilder(context, auditFields)
  const name = parseRepository(repository)
  if (name?.boundaryId !== boundary || actionPrefix(name.collection) === undefined) {
    const message = `must be <boundaryId>/<resourceGroup>/<collection>/<name> and begin with ${boundary}/`
    throw refusedFields([{ field: 'repository', message }])
  }
  await requireBuilder(context, auditFields, scopeOf(name))
}

/** Returns all pins, whatever their creator or name: kubectl and Git choose their own names. */
function allPins({ services }: Context, boundary: string): Promise<readonly PinObject[]> {
  return services.records.list(RegistryPin, { namespace: boundaryNamespace(boundary) }, { fresh: true })
}

/** Returns the pins of a repository, oldest first. */
async function pinsOf(context: Context, boundary: string, repository: string): Promise<PinObject[]> {
  const all = await allPins(context, boundary)
  return all.filter(({ spec }) => spec.repository === repository).sort(byAge)
}

async function putPin(context: Context<string, unknown, z.output<typeof PinUpsertRequest>>) {
  const { services, body } = context
  const { boundary, repository } = body
  await mayPin(context, boundary, repository)
  refusePast(services.clock.now(), 'expiresAt', body)
  await findBoundary(context, boundary)
  const spec = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => name in storedFields && value !== null),
  )
  const pins = await pinsOf(context, boundary, repository)
  if (pins.length === 0 && context.header('if-match') !== undefined) throw nothingToMatch()
  await auditAction(context, 'Pin', { repository, detail: pluralize(body.digests.length, 'digest') })
  const object = await replacePins(context, pins, spec as PinObject['spec'])
  return ok(pinDto(context, boundary, object), { etag: etagOf(object) })
}

/** Replaces pins that others create at the same time too, and creates the pin again if somebody deletes it. */
async function replacePins(context: Context, pins: readonly PinObject[], spec: PinObject['spec']): Promise<PinObject> {
  const { services, caller, ifMatch, body } = context
  const { boundary } = body as z.output<typeof PinUpsertRequest>
  const { repository } = spec
  const [found, ...others] = pins
  const ref = { namespace: boundaryNamespace(boundary), name: repositoryObjectName(repository) }
  const creation = { ...ref, spec, caller, isSame: () => true }
  const pin = found ?? (await services.records.create(RegistryPin, creation)).object
  const updated = await services.records
    .update(RegistryPin, refOf(pin), { caller, ifMatch, change: () => spec, fresh: true })
    .catch(ignoreNotFound)
    .catch(explainConflict(repository))
  if (updated !== undefined) {
    // A PUT replaces the pin of the repository as a whole, so delete any others.
    for (const other of others) await removePin(context, other)
    return updated.object
  }
  if (context.header('if-match') !== undefined) throw nothingToMatch()
  return replacePins(context, await pinsOf(context, boundary, repository), spec)
}

/** Ignores a concurrent deletion. */
async function removePin(
  { services, caller }: Context,
  pin: PinObject,
  ifMatch?: readonly SeenVersion[],
): Promise<void> {
  await services.records.remove(RegistryPin, refOf(pin), { caller, ifMatch }).catch(ignoreNotFound)
}

/** Rewords a conflict: callers know the repository of a pin, not the name of its object. */
const explainConflict = (repository: string) => (error: unknown) => {
  if (!(error instanceof PlatformError) || error.code !== 'CONFLICT') throw error
  const message = `The pin of "${repository}" has changed since it was read; send the ETag of its last answer in If-Match.`
  throw new PlatformError('CONFLICT', message, { ...error.extras }, { cause: error })
}

function pinDto({ services }: Context, boundary: string, { metadata, spec }: PinObject) {
  const { namespace, annotations } = metadata
  const ref = { namespace, name: repositoryObjectName(spec.repository) }
  const stored = services.records.peek(RegistryRepository, ref)?.status?.digests ?? []
  const storedDigests = new Set(stored.map(({ digest }) => digest))
  return wholeRecord(PinDto, {
    ...spec,
    id: objectId(RegistryPin.resource, metadata),
    boundary,
    updatedAt: writtenAt(metadata),
    updatedBy: annotations?.[ACTOR_ANNOTATION]?.split(' ')[1] ?? '',
    missingDigests: spec.digests.filter((digest) => !storedDigests.has(digest)),
  })
}

/** Returns the time of the last write, which only objects read directly from the API server contain. */
function writtenAt({ managedFields = [], creationTimestamp }: PinObject['metadata']): string {
  const times = managedFields.map((fields) => (fields as { time?: string }).time ?? '')
  return [...times, creationTimestamp ?? timestamp(0)].sort().at(-1) as string
}

/**
 * Lists pins for callers who may pin. kubectl can create several for one repository, which are separate entries; the
 * ETag is that of the oldest, with which If-Match is compared.
 */
async function listPins(context: Context<string, z.output<typeof PinsQuery>>) {
  const { boundary, repository } = context.query
  registryOf(context.services)
  await requireBuilder(context, { boundary, repository: repository?.slice(0, 200), detail: 'list pins' })
  await findBoundary(context, boundary)
  const all = await allPins(context, boundary)
  const selected = all
    .filter(({ spec }) => {
      const name = parseRepository(spec.repository)
      const isSelected = repository === undefined || spec.repository === repository
      return isSelected && (name === undefined || mayKnow(context, name))
    })
    .sort(byAge)
  const { etag } = etagHeader(repository === undefined ? undefined : selected[0])
  return { rows: selected.map((pin) => pinDto(context, boundary, pin)), etag }
}

async function deletePin(context: Context<string, z.output<typeof PinQuery>>) {
  const { services, ifMatch, query } = context
  const { boundary, repository } = query
  await mayPin(context, boundary, repository)
  if ((await services.records.get(Boundary, { name: boundary })) === undefined) return noContent()
  const [first, ...others] = await pinsOf(context, boundary, repository)
  if (first === undefined) {
    if (context.header('if-match') !== undefined) throw nothingToMatch('there is nothing to delete')
    return noContent()
  }
  const refuse = explainConflict(repository)
  if (ifMatch !== undefined && !matchesAnyVersion(ifMatch, first)) refuse(staleVersion(first))
  await auditAction(context, 'Unpin', ...[first, ...others].map(() => ({ repository })))
  // Delete the pin of the ETag first, at that version: if somebody changes it now, all pins stay.
  await removePin(context, first, ifMatch).catch(refuse)
  for (const other of others) await removePin(context, other)
  return noContent()
}

const PINS = '/v1/internal/registries/pins'

export const pinRoutes: readonly RouteDraft[] = [
  listRoute(PINS, {
    auth: builderAuth,
    summary: 'The pins of a boundary',
    query: PinsQuery,
    dto: PinDto,
    columns: {
      repository: text('Repository', { isSearched: true }),
      keepLast: number('Keep last'),
      keepForDays: number('Keep for days'),
      expiresAt: dateTime('Expires'),
      updatedAt: dateTime('Updated'),
    },
    sort: 'repository',
    rows: listPins,
  }),
  route('PUT', PINS, {
    auth: builderAuth,
    summary: 'Keep images of a repository; replaces its pin',
    body: PinUpsertRequest,
    reply: PinDto,
    answers: [429],
    handler: putPin,
  }),
  route('DELETE', PINS, {
    auth: builderAuth,
    summary: 'Delete the pin of a repository',
    query: PinQuery,
    answers: [429],
    handler: deletePin,
  }),
]
