import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import request from 'supertest'
import { fittingName, sampleSpec } from '../../test/make/samples.ts'
import { bearer, CLUSTER } from '../../test/worlds/facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from '../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { PLAN_FAMILIES } from '../core/sizing/plans.ts'
import type { AnyKind } from '../crds/define.ts'
import { KINDS } from '../crds/index.ts'
import { ComputePlan } from '../crds/plans.ts'
import { SERVED_ROUTES } from './index.ts'

const READS = SERVED_ROUTES.filter(({ method, isBuilt }) => isBuilt && method === 'GET')

/** What is there already, or is the boundary itself. */
const SEEDED = new Set(['Boundary', 'ResourceGroup', 'PlatformCluster', 'RoleAssignment', 'NameClaim'])

const SIZES = { cpuRequest: '100m', cpuLimit: '1', memoryRequest: '1Gi', memoryLimit: '1Gi', storageSize: '20Gi' }

describe('where there is one of each kind', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  const names = new Map<string, string>()

  const spaceOf = ({ placement }: AnyKind) => {
    if (placement === 'cluster') return undefined
    if (placement === 'group') return groupNamespace(BOUNDARY, 'shop')
    return placement === 'platform' ? SYSTEM_NAMESPACE : boundaryNamespace(BOUNDARY)
  }
  before(async () => {
    server = await startShop()
    server.grant(OWNER, 'Platform Owner', '/')
    server.grant(OWNER, 'Owner', '/')
    for (const family of PLAN_FAMILIES) {
      const spec = { family, displayName: family, ...SIZES, isDefault: true }
      server.put(ComputePlan, `default-${family.toLowerCase()}`, ComputePlan.spec.parse(spec))
    }
    for (const kind of KINDS.filter(({ kind }) => !SEEDED.has(kind))) {
      const spec = sampleSpec(kind, { boundaryId: BOUNDARY, ownerId: OWNER, memberId: randomUUID() })
      const name = kind.placement === 'group' && kind.name === 'resource' ? 'one' : fittingName(kind, spec)
      names.set(kind.segment, name)
      server.put(kind, name, kind.spec.parse(spec) as object, spaceOf(kind))
    }
  })
  after(() => server.stop())

  it('there are many routes that read', () => expect(READS.length).to.be.greaterThan(150))
  for (const { path } of READS) {
    it(`GET ${path} does not fail inside the platform`, async () => {
      const there = path
        .replace('{boundaryId}', BOUNDARY)
        .replace('{clusterId}', CLUSTER)
        .replace(/\{resourceGroup(Name)?\}/, 'shop')
        .replace(/([a-z]+)\/\{\w+\}/, (_, collection) => `${collection}/${names.get(collection) ?? 'one'}`)
        .replace(/\{\w+\}/g, 'one')
      const { status, body } = await request(server.app).get(there).set('authorization', bearer(OWNER))
      expect(status, JSON.stringify(body)).to.not.equal(500)
    })
  }
})
