import { z } from 'zod'
import { uuidV5 } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { type BoundaryHome, inBoundary } from '../resources/collection/homes.ts'
import { DateTime } from '../resources/dto.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { type SourceObject, sourcesOf } from './catalogue.ts'
import { CatalogSourceDto, sourceDto } from './sourceRecord.ts'
import { askForSync } from './sources.ts'

export const CatalogStatusDto = z
  .object({
    sources: z.array(CatalogSourceDto),
    builtIn: CatalogSourceDto.describe('What the platform brings, as if it were a source'),
    templateCount: z.int().describe('Of all sources and of the platform; the own ones of the boundary are not counted'),
    invalidCount: z.int().describe('Files of sources that are no valid templates'),
    lastSyncAt: DateTime.nullable().describe('When a source was last read with success'),
    isSyncing: z.boolean(),
  })
  .meta({ id: 'CatalogStatusDto' })

/** The same everywhere: the platform has one. */
const BUILT_IN_ID = uuidV5('blueprints/built-in')

const isSyncing = ({ status }: CatalogSourceDto) => status === 'Syncing' || status === 'Pending'

function recordOf(source: SourceObject): CatalogSourceDto {
  return { id: source.metadata.name, createdAt: createdAtOf(source.metadata), ...sourceDto(source) }
}

/** The templates of the platform are those of its release: nothing is fetched for them. */
function builtIn({ records }: Services, others: readonly CatalogSourceDto[]): CatalogSourceDto {
  const templates = records.peekAll(BlueprintTemplate, { namespace: SYSTEM_NAMESPACE })
  const times = templates.map(({ metadata }) => createdAtOf(metadata)).sort()
  const updated = templates.map(({ metadata, status }) => status?.updatedAt ?? createdAtOf(metadata)).sort()
  return {
    id: BUILT_IN_ID,
    provider: 'Git',
    ...{ repositoryUrl: null, repositoryFullName: null, repositoryId: null, installationId: null },
    ...{ ref: 'main', path: '/', enabled: true },
    status: others.some(isSyncing) ? 'Syncing' : 'Ready',
    ...{ message: null, revision: null },
    templateCount: templates.length,
    invalidTemplates: [],
    lastSyncAt: updated.at(-1) ?? null,
    createdAt: times[0] ?? '1970-01-01T00:00:00Z',
  }
}

function statusOf(services: Services, { boundaryId }: BoundaryHome): z.output<typeof CatalogStatusDto> {
  const objects = sourcesOf(services, boundaryId)
  const sources = objects.map(recordOf)
  const own = builtIn(services, [])
  const synced = sources.map(({ lastSyncAt }) => lastSyncAt ?? '').sort()
  return {
    sources,
    builtIn: own,
    templateCount: sources.reduce((sum, { templateCount }) => sum + templateCount, own.templateCount),
    invalidCount: objects.reduce((sum, { status }) => sum + (status?.invalidCount ?? 0), 0),
    lastSyncAt: synced.at(-1) || null,
    isSyncing: sources.some(isSyncing),
  }
}

/** Has every source read that is switched on. 200 if all of them are being read already. */
async function refresh(context: Context) {
  const home = await inBoundary(context)
  refuseWhileDeleting(home.owner)
  const enabled = sourcesOf(context.services, home.boundaryId).filter(({ spec }) => spec.enabled)
  const asked = await Promise.all(enabled.map((source) => askForSync(context, source)))
  const body = builtIn(
    context.services,
    asked.map(({ object }) => recordOf(object)),
  )
  return asked.length === 0 || asked.some(({ isNew }) => isNew) ? accepted(body) : ok(body)
}

const CATALOG = '{B}/resources/blueprints/catalog'

export const catalogRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    `${CATALOG}/status`,
    {
      auth: action('blueprints/read'),
      summary: 'Where blueprints come from, and when that was read',
      reply: CatalogStatusDto,
    },
    async (context) => ok(statusOf(context.services, await inBoundary(context as Context))),
  ),
  route(
    'POST',
    `${CATALOG}/refresh`,
    {
      auth: action('blueprints/templates/write'),
      summary: 'Read all sources now; answers what the platform brings',
      reply: CatalogSourceDto,
    },
    (context) => refresh(context as Context),
  ),
]
