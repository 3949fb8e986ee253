import { z } from 'zod'
import { notFound } from '../../core/errors.ts'
import { idOf, uuidV5 } from '../../core/ids.ts'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { Uuid } from '../../crds/fields.ts'
import { BoundaryTrust } from '../../crds/rbac.ts'
import { created, noContent } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime, pagedListOf, Uuid as UuidDto } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { incarnationAt } from '../rules/grants.ts'
import { checkTrust, isTrusted, type TrustRecord, trustedAlready } from '../rules/trusts.ts'

const CreateTrustRequest = z
  .strictObject({
    boundaryId: Uuid.describe('The boundary that grants'),
    trustedBoundaryId: Uuid.describe('The boundary whose people may'),
    actions: z.array(z.string().min(1).max(128)).min(1).max(100),
    bidirectional: z.boolean().default(false),
    expiresAt: DateTime.nullish(),
  })
  .meta({ id: 'CreateTrustRequest' })

const TrustDto = z
  .object({
    id: UuidDto,
    boundaryId: UuidDto,
    boundary: z.string(),
    trustedBoundaryId: UuidDto,
    trustedBoundary: z.string(),
    actions: z.array(z.string()),
    bidirectional: z.boolean(),
    expiresAt: DateTime.nullable(),
    createdAt: DateTime,
    createdBy: z.string().nullable(),
  })
  .meta({ id: 'TrustDto' })

function trustIdOf({ metadata: { namespace, name } }: TrustRecord): string {
  return idOf({ group: BoundaryTrust.resource.group, kind: BoundaryTrust.kind, namespace, name })
}

function trustDto({ records }: Services, trust: TrustRecord): z.output<typeof TrustDto> {
  const { metadata, spec } = trust
  const nameOf = (id: string) => records.peek(Boundary, { name: id })?.spec.displayName ?? ''
  return {
    id: trustIdOf(trust),
    boundaryId: spec.boundaryId,
    boundary: nameOf(spec.boundaryId),
    trustedBoundaryId: spec.trustedBoundaryId,
    trustedBoundary: nameOf(spec.trustedBoundaryId),
    actions: spec.actions,
    bidirectional: spec.bidirectional,
    expiresAt: spec.expiresAt ?? null,
    createdAt: metadata.creationTimestamp ?? '1970-01-01T00:00:00Z',
    createdBy: metadata.annotations?.[CREATED_BY_ANNOTATION] ?? null,
  }
}

const trustShape: ListShape<TrustRecord> = {
  fields: {
    createdAt: { title: 'Created', type: 'dateTime', of: ({ metadata }) => metadata.creationTimestamp },
    expiresAt: { title: 'Expires', type: 'dateTime', of: ({ spec }) => spec.expiresAt },
  },
  defaultSort: '-createdAt',
  nameOf: trustIdOf,
  idOf: trustIdOf,
}

type Create = Context<string, unknown, z.output<typeof CreateTrustRequest>>

/** @throws PlatformError BAD_REQUEST, boundary_not_found, already_exists */
async function createTrust({ services, caller, body }: Create) {
  checkTrust(services, body)
  const { boundaryId, trustedBoundaryId } = body
  const boundaryIncarnation = incarnationAt(services, { level: 'boundary', boundaryId })
  const trustedBoundaryIncarnation = incarnationAt(services, { level: 'boundary', boundaryId: trustedBoundaryId })
  const name = uuidV5(
    ['trust', boundaryId, boundaryIncarnation ?? '', trustedBoundaryId, trustedBoundaryIncarnation ?? ''].join('/'),
  )
  const spec = { ...body, boundaryIncarnation, trustedBoundaryIncarnation }
  const made = isTrusted(services, body)
    ? undefined
    : await services.records.create(BoundaryTrust, {
        namespace: SYSTEM_NAMESPACE,
        name,
        spec,
        caller,
        isSame: () => true,
      })
  if (made?.isNew !== true) throw trustedAlready(body)
  return created(trustDto(services, made.object), { etag: etagOf(made.object) })
}

/** @throws PlatformError NOT_FOUND */
async function removeTrust({ services, caller, ifMatch, parameters }: Context<'trustId'>) {
  const trusts = services.records.peekAll(BoundaryTrust, { namespace: SYSTEM_NAMESPACE })
  const found = trusts.find((trust) => trustIdOf(trust) === parameters.trustId)
  if (found === undefined) throw notFound(`Trust "${parameters.trustId}"`)
  const { name } = found.metadata
  await services.records.remove(BoundaryTrust, { namespace: SYSTEM_NAMESPACE, name }, { caller, ifMatch })
  return noContent()
}

export const trustRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    '/admin/boundary-trusts',
    {
      auth: action('rbac/boundaryTrusts/admin'),
      summary: 'The trusts between boundaries',
      query: z.object({ boundaryId: Uuid.optional().describe('On either side') }),
      list: trustShape as never,
      reply: pagedListOf(TrustDto),
      answers: [200],
    },
    async ({ services, fresh, query, list }) => {
      const { boundaryId } = query
      const all = await services.records.list(BoundaryTrust, { namespace: SYSTEM_NAMESPACE }, { fresh })
      const rows = all.filter(
        ({ spec }) => boundaryId === undefined || [spec.boundaryId, spec.trustedBoundaryId].includes(boundaryId),
      )
      return pagedParts(rows, list, trustShape, (trust) => trustDto(services, trust))
    },
  ),
  route(
    'POST',
    '/admin/boundary-trusts',
    {
      auth: action('rbac/boundaryTrusts/admin'),
      summary: 'Let the people of one boundary read in another',
      body: CreateTrustRequest,
      reply: TrustDto,
      answers: [200, 201],
    },
    createTrust,
  ),
  route(
    'DELETE',
    '/admin/boundary-trusts/{trustId}',
    { auth: action('rbac/boundaryTrusts/admin'), summary: 'End a trust', answers: [200, 204] },
    removeTrust,
  ),
]
