import { z } from 'zod'
import { uuidV5 } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { Uuid } from '../../crds/fields.ts'
import { BoundaryTrust } from '../../crds/rbac.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import { collection } from '../resources/collection/collection.ts'
import { atPlatform } from '../resources/collection/parents.ts'
import { DateTime, Uuid as UuidDto } from '../resources/dto.ts'
import { dateTime } from '../resources/paging.ts'
import { incarnationAt } from '../rules/grants.ts'
import { checkTrust, isTrusted, trustedAlready } from '../rules/trusts.ts'

const CreateTrustRequest = strictRecord('CreateTrustRequest', {
  boundaryId: Uuid.describe('The boundary that grants'),
  trustedBoundaryId: Uuid.describe('The boundary whose people may'),
  actions: BoundaryTrust.spec.shape.actions,
  bidirectional: z.boolean().default(false),
  expiresAt: DateTime.nullish(),
})

const TrustDto = namedRecord('TrustDto', {
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

/** @throws PlatformError BAD_REQUEST, boundary_not_found, already_exists */
async function makeTrust({ services, caller, body }: Context<string, unknown, z.output<typeof CreateTrustRequest>>) {
  checkTrust(services, body)
  const { boundaryId, trustedBoundaryId } = body
  const boundaryIncarnation = incarnationAt(services, { level: 'boundary', boundaryId })
  const trustedBoundaryIncarnation = incarnationAt(services, { level: 'boundary', boundaryId: trustedBoundaryId })
  if (isTrusted(services, body)) throw trustedAlready(body)
  const made = await services.records.create(BoundaryTrust, {
    namespace: SYSTEM_NAMESPACE,
    name: uuidV5(
      ['trust', boundaryId, boundaryIncarnation ?? '', trustedBoundaryId, trustedBoundaryIncarnation ?? ''].join('/'),
    ),
    spec: { ...body, boundaryIncarnation, trustedBoundaryIncarnation },
    caller,
    isSame: () => true,
  })
  if (!made.isNew) throw trustedAlready(body)
  return made
}

const admin = action('rbac/boundaryTrusts/admin')
export const trusts = collection(BoundaryTrust, {
  path: '/admin/boundary-trusts',
  item: 'trustId',
  noun: 'Trust',
  parent: atPlatform,
  may: { read: admin, write: admin },
  dto: TrustDto,
  toDto: ({ spec }, { services }) => {
    const nameOf = (id: string) => services.records.peek(Boundary, { name: id })?.spec.displayName ?? ''
    return { boundary: nameOf(spec.boundaryId), trustedBoundary: nameOf(spec.trustedBoundaryId) }
  },
  columns: { createdAt: dateTime('Created'), expiresAt: dateTime('Expires') },
  sort: '-createdAt',
  list: {
    summary: 'The trusts between boundaries',
    query: z.object({ boundaryId: Uuid.optional().describe('On either side') }),
    where:
      ({ boundaryId }) =>
      ({ spec }) =>
        boundaryId === undefined || [spec.boundaryId, spec.trustedBoundaryId].includes(boundaryId),
  },
  create: {
    summary: 'Let the people of one boundary read in another',
    body: CreateTrustRequest,
    make: makeTrust,
  },
  remove: { summary: 'End a trust' },
})
