import { z } from 'zod'
import {
  CATALOGUE_PROVIDERS,
  CATALOGUE_STATES,
  isSamePlace,
  providerOf,
  SOURCES_MAX,
  stateOf,
} from '../../contracts/blueprints/catalogue.ts'
import { PlatformError, permissionMissing, refusedFields } from '../../core/errors.ts'
import { refOf } from '../../core/object.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { boundaryScope } from '../callers/visibility.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { collection } from '../resources/collection/collection.ts'
import { type BoundaryHome, inBoundary } from '../resources/collection/homes.ts'
import { vetUrl } from '../resources/deployments/address.ts'
import { BUILD } from '../resources/deployments/reporters.ts'
import { dateTime, enumeration, flag, text } from '../resources/paging.ts'
import { unprocessable } from '../resources/sizing.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { type SourceObject, sourcesOf } from './catalogue.ts'
import { CatalogSourceDto, sourceDto } from './sourceRecord.ts'

const { repositoryUrl, installationId, repositoryId, repositoryFullName, ref, path } = BlueprintSource.spec.shape

export const CreateCatalogSourceRequest = z
  .strictObject({
    provider: z.enum(CATALOGUE_PROVIDERS).nullish().describe('What the address tells if absent'),
    repositoryUrl: z.string().min(1).max(2048).nullish().describe('Of a repository that everybody may read; https'),
    installationId: installationId.unwrap().nullish().describe('Instead of the address; with repositoryId'),
    repositoryId: repositoryId.unwrap().nullish(),
    repositoryFullName: repositoryFullName.unwrap().nullish(),
    ref: ref.unwrap().nullish().describe('Branch, tag or commit; main if absent'),
    path: path.unwrap().nullish().describe('Folder; / if absent'),
  })
  .meta({ id: 'CreateCatalogSourceRequest' })
type Creation = z.output<typeof CreateCatalogSourceRequest>

export const UpdateCatalogSourceRequest = z
  .strictObject({
    enabled: z.boolean().nullish().describe('Null leaves it as it is, here and below'),
    ref: ref.unwrap().nullish(),
    path: path.unwrap().nullish(),
  })
  .meta({ id: 'UpdateCatalogSourceRequest' })

const turn = ({ namespace }: BoundaryHome) => ({
  key: `blueprint sources ${namespace}`,
  sees: [{ kind: BlueprintSource, namespace }],
})

/** @throws PlatformError BAD_REQUEST, URL_NOT_ALLOWED, FORBIDDEN, REFERENCE_NOT_FOUND, ALREADY_EXISTS, QUOTA_EXCEEDED */
function newSpec(context: Context<string, unknown, Creation>, home: BoundaryHome): object {
  const { services, body } = context
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) as Creation
  const isInstalled = given.installationId != null && given.repositoryId != null
  if (isInstalled === (given.repositoryUrl != null) || (given.installationId == null) !== (given.repositoryId == null))
    throw refusedFields([
      { field: 'repositoryUrl', message: 'either this is needed, or installationId with repositoryId' },
    ])
  if (given.repositoryUrl != null) vetRepository(services, given.repositoryUrl)
  const found = isInstalled ? installedSource(context as Context, home, given.installationId ?? '') : undefined
  const provider = given.provider ?? found ?? providerOf(given.repositoryUrl ?? undefined)
  const spec = BlueprintSource.spec.parse({ ...given, provider })
  refuseSame(services, home, spec)
  const used = sourcesOf(services, home.boundaryId).length
  if (used < SOURCES_MAX) return spec
  const extras = { quota: 'blueprintSources', limit: SOURCES_MAX, used, requested: 1 }
  throw new PlatformError('QUOTA_EXCEEDED', `A boundary has at most ${SOURCES_MAX} sources of blueprints.`, extras)
}

/** @throws PlatformError URL_NOT_ALLOWED, BAD_REQUEST */
function vetRepository({ sources }: Services, address: string): void {
  const own = sources.circuit.baseUrl
  const hosts = own === undefined ? sources.allowedHosts : [...sources.allowedHosts, new URL(own).host]
  vetUrl(address, 'repositoryUrl', hosts)
  const { success, error } = repositoryUrl.safeParse(address)
  if (!success) throw refusedFields([{ field: 'repositoryUrl', message: error.issues[0]?.message ?? 'is no address' }])
}

/**
 * Who shows what the credentials of a deployment source open may have a token of it.
 *
 * @returns the provider, as records of blueprints name it
 * @throws PlatformError FORBIDDEN, REFERENCE_NOT_FOUND
 */
function installedSource(context: Context, { namespace, boundaryId }: BoundaryHome, id: string) {
  const { services } = context
  requireToken(context, boundaryId)
  const found = services.records
    .peekAll(DeploymentSource, { namespace })
    .find(({ metadata, spec }) => id === (spec.provider === 'GitHub' ? spec.installationId : metadata.name))
  const provider = found?.spec.provider
  if (provider === undefined || provider === 'Registry')
    throw unprocessable(
      'REFERENCE_NOT_FOUND',
      'installationId',
      id,
      `The boundary has no installation "${id}" of a Git host.`,
    )
  return provider === 'Circuit' ? 'Gitea' : provider
}

/** @throws PlatformError FORBIDDEN */
function requireToken({ services, caller }: Context, boundaryId: string): void {
  const scope = boundaryScope(boundaryId)
  if (!services.access.isAllowed(caller.principalId, BUILD, scope)) throw permissionMissing(BUILD, scope)
}

/** @throws PlatformError ALREADY_EXISTS */
function refuseSame(services: Services, home: BoundaryHome, next: SourceObject['spec'], own?: string): void {
  const same = sourcesOf(services, home.boundaryId).find(
    ({ metadata, spec }) => metadata.name !== own && isSamePlace(spec, next),
  )
  if (same === undefined) return
  const id = same.metadata.name
  const message = `Source "${id}" reads the same folder of the same repository at the same ref.`
  throw new PlatformError('ALREADY_EXISTS', message, { sourceId: id })
}

export const SOURCES = '{B}/resources/blueprints/sources'

export const sources = collection(BlueprintSource, {
  path: SOURCES,
  item: 'sourceId',
  noun: 'Source',
  home: inBoundary,
  keyOf: 'name',
  may: { read: action('blueprints/read'), write: action('blueprints/templates/write') },
  dto: CatalogSourceDto,
  toDto: sourceDto,
  columns: {
    repositoryFullName: text('Repository', { isSearched: true }),
    provider: enumeration('Provider', CATALOGUE_PROVIDERS),
    status: enumeration('Status', CATALOGUE_STATES),
    enabled: flag('Enabled'),
    lastSyncAt: dateTime('Synced'),
    createdAt: dateTime('Created'),
  },
  sort: 'createdAt',
  list: { summary: 'Repositories whose templates stand in the catalogue' },
  create: {
    summary: 'Read templates from a repository from now on',
    body: CreateCatalogSourceRequest,
    turn,
    toSpec: newSpec,
    // The same place is refused before, whoever asks again.
    options: { isSame: () => false },
  },
  patch: {
    summary: 'Change what is read, or switch it off',
    body: UpdateCatalogSourceRequest,
    turn,
    before: (context, { metadata, spec }, home) => {
      const next = changed(spec, context.body)
      if (isSamePlace(spec, next)) return
      if (spec.installationId !== undefined) requireToken(context as Context, home.boundaryId)
      refuseSame(context.services, home, next, metadata.name)
    },
    toSpec: ({ spec }, { body }) => changed(spec, body),
  },
  remove: { summary: 'Remove a source with its templates; what they deployed stays' },
})

type Change = z.output<typeof UpdateCatalogSourceRequest>

function changed(spec: SourceObject['spec'], { enabled, ref: nextRef, path: nextPath }: Change): SourceObject['spec'] {
  return { ...spec, enabled: enabled ?? spec.enabled, ref: nextRef ?? spec.ref, path: nextPath ?? spec.path }
}

/** Asks for a source to be read now. @returns whether that was news @throws PlatformError INVALID_STATE */
export async function askForSync({ services, caller }: Context, found: SourceObject, ifMatch?: Context['ifMatch']) {
  let isNew = false
  const { object } = await services.records.update(BlueprintSource, refOf(found as never), {
    caller,
    ifMatch,
    change: (stored) => {
      refuseWhileDeleting(stored)
      const { metadata, spec, status } = stored
      if (!spec.enabled)
        throw new PlatformError('INVALID_STATE', 'The source is switched off.', { status: 'Disabled', phase: null })
      isNew = stateOf(spec, status, metadata.generation) !== 'Syncing'
      // In milliseconds: two requests within a second are two.
      const syncAt = new Date(services.clock.now()).toISOString()
      return isNew ? { ...spec, requests: { ...spec.requests, syncAt } } : spec
    },
  })
  return { object, isNew }
}

export const sourceRoutes: readonly RouteDraft[] = [
  ...sources.routes(),
  route(
    'POST',
    `${SOURCES}/{sourceId}/sync`,
    { auth: action('blueprints/templates/write'), summary: 'Read a source now', reply: CatalogSourceDto },
    async (context) => {
      const { object: found, home } = await sources.find(context as Context)
      const { object, isNew } = await askForSync(context as Context, found, context.ifMatch)
      const { body, headers } = await sources.show(context as Context, object, home)
      const extras = { headers: headers as Record<string, string> }
      return isNew ? accepted(body as never, extras) : ok(body as never, extras)
    },
  ),
]
