import { z } from 'zod'
import { changesBetween, REVISION_REASONS, type Revision } from '../../contracts/revisions.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import type { AnyKind } from '../../crds/define.ts'
import { type Answer, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { WholeNumber } from '../http/query.ts'
import { type Authorization, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { changeResource } from './change.ts'
import { listRoute } from './collection/columns.ts'
import { DateTime } from './dto.ts'
import { createViewBuilder, findResource, locateResource, type ResourceLocation } from './find.ts'
import { shownSchema, shownValue } from './items.ts'
import { dateTime, enumeration, number } from './paging.ts'
import { withClaimedAddresses } from './platformNames.ts'
import { pollUntilChanged } from './pollUntilChanged.ts'
import type { ResourceView } from './types.ts'

const RevisionDto = namedRecord('RevisionDto', {
  number: z.int(),
  createdAt: DateTime,
  createdBy: z.string().nullable().describe('Null if it was not made through REST'),
  reason: z.enum(REVISION_REASONS),
  message: z.string().nullable(),
  isCurrent: z.boolean(),
  images: z.record(z.string(), z.string()).describe('By component'),
})

const RevisionDiffDto = namedRecord('RevisionDiffDto', {
  from: z.int(),
  to: z.int(),
  changes: z.array(
    namedRecord('RevisionChange', {
      path: z.string().describe('A JSON Pointer (RFC 6901)'),
      kind: z.enum(['Added', 'Removed', 'Changed']),
      from: z.unknown(),
      to: z.unknown(),
    }),
  ),
})

/** How the revisions of a kind are shown and restored. */
export type RevisionRoutes<K extends AnyKind, Content extends object> = {
  read: Authorization
  write: Authorization
  /** The record of the resource, which a rollback answers with. */
  dto: z.ZodType
  toDto: (view: ResourceView<K>) => object
  /** The row of a list. */
  row: { dto: z.ZodObject; of: (revision: Revision<Content>, stored: RecordOf<K>) => Record<string, unknown> }
  /** A single revision also shows its whole content: the name of its record in documents, and the content's schema. */
  single: { id: string; content: z.ZodObject }
  /** Returns the parameters of a content, which are also shown beside it; absent if contents have none. */
  parametersOf?: (content: Content) => Record<string, string>
  /** Returns the spec that a rollback writes. Throws for what the caller may not do. */
  rollback: (stored: RecordOf<K>, content: Content, context: Context, location: ResourceLocation) => object
  parameter?: string
}

type Status = { revision?: number } | undefined
const currentOf = ({ status }: { status?: object | undefined }) => (status as Status)?.revision ?? 0

/** The row of a revision of a kind that runs several images. */
export function rowWithImages<K extends AnyKind, Content extends object>(
  imagesOf: (content: Content) => Record<string, string>,
): RevisionRoutes<K, Content>['row'] {
  return {
    dto: RevisionDto,
    of: ({ number, createdAt, createdBy, reason, message, content }, stored) => ({
      ...{ number, createdAt, reason, createdBy: createdBy ?? null, message: message ?? null },
      isCurrent: number === currentOf(stored),
      images: imagesOf(content),
    }),
  }
}

/** The four routes of revisions of a resource, `<base>/revisions...`: list, read, diff, rollback. */
export function revisionRoutes<K extends AnyKind, Content extends object>(
  kind: K,
  base: string,
  given: RevisionRoutes<K, Content>,
): RouteDraft[] {
  return [...readingRoutes(kind, `${base}/revisions`, given), rollbackRoute(kind, `${base}/revisions`, given)]
}

async function revisionsOf<K extends AnyKind, Content>(kind: K, context: Context, parameter = 'name') {
  const { object, ref, location } = await findResource(kind, context, parameter)
  const known = await context.services.live.revisions<Content>({ kind: kind.kind, ...ref })
  return { object, ref, location, known, current: currentOf(object) }
}

/** @throws PlatformError NOT_FOUND */
function findRevision<Content>(
  known: readonly Revision<Content>[],
  wantedNumber: string | undefined,
): Revision<Content> {
  const revision = known.find(({ number }) => String(number) === wantedNumber)
  if (revision === undefined) throw notFound(`Revision ${wantedNumber ?? ''}`)
  return revision
}

function readingRoutes<K extends AnyKind, Content extends object>(
  kind: K,
  path: string,
  { read, row, single, parametersOf, parameter }: RevisionRoutes<K, Content>,
): RouteDraft[] {
  const SingleDto = row.dto
    .extend({
      spec: shownSchema(single.content).describe('What a rollback to it restores'),
      ...(parametersOf !== undefined && { parameters: z.record(z.string(), z.string()) }),
    })
    .meta({ id: single.id })
  const found = (context: Context) => revisionsOf<K, Content>(kind, context, parameter)
  return [
    listRoute(path, {
      auth: read,
      summary: 'Revisions, the newest first',
      dto: row.dto,
      id: 'number',
      sort: '-number',
      unfollowed: 'the stored revisions of the resource',
      columns: {
        number: number('Number'),
        createdAt: dateTime('Created'),
        reason: enumeration('Reason', REVISION_REASONS, { isSorted: false }),
      },
      rows: async (context) => {
        const { known, object } = await found(context)
        return known.map((revision) => row.of(revision, object))
      },
    }),
    route('GET', `${path}/{number}` as string, {
      auth: read,
      summary: 'A revision with its content',
      reply: SingleDto,
      handler: async (context) => {
        const { object, known } = await found(context)
        const revision = findRevision(known, context.parameters.number)
        const { content } = revision
        const spec = shownValue(single.content, content)
        const parameters = parametersOf?.(content)
        const shown = { ...row.of(revision, object), spec, ...(parameters !== undefined && { parameters }) }
        return ok(shown as never, { etag: etagOf(object) })
      },
    }),
    route('GET', `${path}/{from}/diff/{to}` as string, {
      auth: read,
      summary: 'What differs between two revisions',
      reply: RevisionDiffDto,
      handler: async (context) => {
        const { known } = await found(context)
        const [from, to] = [findRevision(known, context.parameters.from), findRevision(known, context.parameters.to)]
        return ok({ from: from.number, to: to.number, changes: changesBetween(from.content, to.content) })
      },
    }),
  ]
}

const RollbackQuery = z.strictObject({
  ifMatchRevision: WholeNumber(1).optional().describe('The revision that must be the current one'),
})

function rollbackRoute<K extends AnyKind, Content extends object>(
  kind: K,
  path: string,
  { write, dto, toDto, rollback, parameter = 'name' }: RevisionRoutes<K, Content>,
): RouteDraft {
  const summary = 'Restores the content of a revision as a new revision'
  return route('POST', `${path}/{number}/rollback` as string, {
    auth: write,
    isHeld: true,
    summary,
    further: REFERENCE_RIGHTS,
    query: RollbackQuery,
    reply: dto,
    handler: async (context): Promise<Answer<never>> => {
      const { ref, location, known, current } = await revisionsOf<K, Content>(kind, context, parameter)
      const { content, number: wanted } = findRevision(known, context.parameters.number)
      const { ifMatchRevision } = context.query
      if (ifMatchRevision !== undefined && ifMatchRevision !== current) {
        const message = `The current revision is ${current}, not ${ifMatchRevision}.`
        throw new PlatformError('CONFLICT', message, { currentRevision: current })
      }
      const located = await locateResource(context, parameter)
      const change = await withClaimedAddresses(kind, context, (claimAdded) =>
        changeResource(kind, located, context, async (stored, reserve) => {
          if (wanted === currentOf(stored)) return stored.spec as object
          const spec = rollback(stored, content, context, location)
          await reserve(spec)
          await claimAdded(stored, spec)
          return spec
        }),
      )
      let shown = change.object
      const isNumbered = async () => {
        shown = (await context.services.records.get(kind, ref)) ?? shown
        return currentOf(shown) > current
      }
      if (change.isChanged) await pollUntilChanged(context, isNumbered)
      const view = createViewBuilder<K>(context.services, location.boundaryId)(shown, location.resourceGroup)
      return ok(toDto(view) as never, { etag: etagOf(shown) })
    },
  })
}
