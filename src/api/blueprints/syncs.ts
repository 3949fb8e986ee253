import { z } from 'zod'
import { PlatformError } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { VERSION } from '../../core/release.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { type BoundaryParent, inBoundary } from '../resources/collection/parents.ts'
import { DateTime, wholeRecord } from '../resources/dto.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import {
  CATALOGUE_SOURCES_PATH,
  CatalogSourceDto,
  type CatalogueSource,
  catalogueSourceDto,
  catalogueSourceStateOf,
  catalogueSources,
} from './sources.ts'

const CATALOG = '{B}/resources/blueprints/catalog'
const write = action('blueprints/templates/write')

const CatalogStatusDto = namedRecord('CatalogStatusDto', {
  sources: z.array(CatalogSourceDto),
  builtIn: CatalogSourceDto,
  templateCount: z.int(),
  invalidCount: z.int(),
  lastSyncAt: DateTime.nullable(),
  isSyncing: z.boolean(),
})

/** Returns the built-in source: the templates of this release, which never need syncing. */
function builtIn({ services }: Context, { owner }: BoundaryParent): z.output<typeof CatalogSourceDto> {
  const templates = services.records.peekAll(BlueprintTemplate, { namespace: SYSTEM_NAMESPACE })
  const createdAt = templates.map(({ metadata }) => createdAtOf(metadata)).sort()[0] ?? createdAtOf(owner.metadata)
  return {
    id: uuidV5('blueprints of the platform'),
    ...{ provider: 'Git', repositoryUrl: null, repositoryFullName: null, repositoryId: null, installationId: null },
    ...{ ref: VERSION, path: '/', enabled: true, status: 'Ready', message: null, revision: VERSION },
    ...{ templateCount: templates.length, invalidTemplates: [], lastSyncAt: createdAt, createdAt },
  }
}

const toDto = (source: CatalogueSource): z.output<typeof CatalogSourceDto> =>
  wholeRecord(CatalogSourceDto, {
    ...{ ...source.status, ...source.spec, id: source.metadata.name, createdAt: createdAtOf(source.metadata) },
    ...catalogueSourceDto(source),
  })

const sourcesOf = ({ services }: Context, { namespace }: BoundaryParent) =>
  services.records
    .peekAll(BlueprintSource, { namespace })
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)

/** GET .../catalog/status */
async function catalogStatus(context: Context) {
  const parent = await inBoundary(context)
  const sources = sourcesOf(context, parent)
  const builtInDto = builtIn(context, parent)
  const templateCount = sources.reduce(
    (sum, { status }) => sum + (status?.templateCount ?? 0),
    builtInDto.templateCount,
  )
  return ok({
    sources: sources.map(toDto),
    builtIn: builtInDto,
    templateCount,
    invalidCount: sources.reduce((sum, { status }) => sum + (status?.invalidCount ?? 0), 0),
    lastSyncAt:
      sources
        .flatMap(({ status }) => status?.lastSyncAt ?? [])
        .sort()
        .at(-1) ?? null,
    isSyncing: sources.some((source) => catalogueSourceStateOf(source) === 'Syncing'),
  })
}

/** POST .../catalog/refresh: syncs every source of the boundary. */
async function refreshCatalog(context: Context) {
  const parent = await inBoundary(context)
  refuseWhileDeleting(parent.owner)
  const enabled = sourcesOf(context, parent).filter(({ spec }) => spec.enabled)
  const isRunning = enabled.some((source) => catalogueSourceStateOf(source) === 'Syncing')
  await Promise.all(
    enabled
      .filter((source) => catalogueSourceStateOf(source) !== 'Syncing')
      .map((source) => requestSync(context, source)),
  )
  return (isRunning ? ok : accepted)(builtIn(context, parent))
}

/** POST .../sources/{sourceId}/sync. @throws PlatformError INVALID_STATE if it is disabled */
async function syncOne(context: Context) {
  const { object } = await catalogueSources.find(context)
  refuseWhileDeleting(object)
  if (!object.spec.enabled) {
    const message = 'The source is disabled: set enabled to true, which reads it too.'
    throw new PlatformError('INVALID_STATE', message, { status: 'Disabled', phase: null })
  }
  if (catalogueSourceStateOf(object) === 'Syncing') return ok(toDto(object), { etag: etagOf(object) })
  const requested = await requestSync(context, object)
  return accepted(toDto(requested), { etag: etagOf(requested) })
}

async function requestSync(
  { services, caller, ifMatch }: Context,
  { metadata }: CatalogueSource,
): Promise<CatalogueSource> {
  const syncAt = new Date(services.clock.now()).toISOString()
  const { object } = await services.records.update(
    BlueprintSource,
    { namespace: metadata.namespace ?? '', name: metadata.name },
    { caller, ifMatch, change: ({ spec }) => ({ ...spec, requests: { ...spec.requests, syncAt } }) },
  )
  return object
}

export const syncRoutes: readonly RouteDraft[] = [
  route('GET', `${CATALOG}/status`, {
    auth: action('blueprints/read'),
    summary: 'Where templates come from, and when they were read',
    reply: CatalogStatusDto,
    handler: catalogStatus,
  }),
  route('POST', `${CATALOG}/refresh`, {
    auth: write,
    isHeld: true,
    summary: 'Read all repositories now',
    reply: CatalogSourceDto,
    handler: refreshCatalog,
  }),
  route('POST', `${CATALOGUE_SOURCES_PATH}/{sourceId}/sync`, {
    auth: write,
    isHeld: true,
    summary: 'Read one repository now',
    reply: CatalogSourceDto,
    handler: syncOne,
  }),
]
