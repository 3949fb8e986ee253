import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { ANNA, assign } from '../../../test/make/authorizationRecords.ts'
import { makeFacade } from '../../../test/worlds/facade.ts'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { etagOf } from '../http/etag.ts'
import { iamMemberRoutes } from './iamMembers.ts'

const ADA = '33333333-3333-4333-8333-333333333333'
const PATH = `/boundaries/${B}/iam/members/${ADA}`

describe('DELETE {B}/iam/members/{principalId}', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.grant(ADA, 'Reader', `/boundaries/${B}`)
    server.put(
      PrincipalGroup,
      '44444444-4444-4444-8444-444444444444',
      { displayName: 'Ops', memberIds: [ADA] },
      boundaryNamespace(B),
    )
  })
  afterEach(() => server.stop())

  const grantsOfAda = async () => {
    const inBoundary = { namespace: boundaryNamespace(B) }
    const { items: groups } = await server.client.list<PrincipalGroup & { [key: string]: unknown }>(
      PrincipalGroup.resource,
      inBoundary,
    )
    const { items } = await server.client.list<RoleAssignment & { [key: string]: unknown }>(
      RoleAssignment.resource,
      inBoundary,
    )
    return [
      ...items.filter(({ spec }) => spec.principalId === ADA),
      ...groups.filter((g) => g.spec.memberIds.length > 0),
    ]
  }

  it('returns 409 for an outdated If-Match', async () => {
    const { status, body } = await server.ask('delete', PATH).set('if-match', '"99-1-other"')
    expect([status, String(body.code).toLowerCase()], JSON.stringify(body)).to.deep.equal([409, 'conflict'])
    expect(await grantsOfAda()).to.have.length(2)
  })

  it('removes assignments and memberships with the ETag of any of them, and without If-Match', async () => {
    const [, group] = await grantsOfAda()
    const etag = group === undefined ? '' : etagOf(group)
    expect((await server.ask('delete', PATH).set('if-match', etag)).status).to.equal(204)
    expect(await grantsOfAda()).to.have.length(0)
    server.grant(ADA, 'Reader', `/boundaries/${B}`)
    expect((await server.ask('delete', PATH)).status).to.equal(204)
  })
})

describe('GET {B}/iam/members, with many people', () => {
  it('looks at each group a few times, not once per person', async () => {
    const { records, services, boundary, call } = makeFacade({ assignments: [assign('Owner', '/')] })
    boundary(B)
    let reads = 0
    const people = Array.from({ length: 100 }, () => randomUUID())
    const memberIds = new Proxy(people, {
      get(list, property) {
        if (property === 'includes' || property === Symbol.iterator) reads += 1
        return Reflect.get(list, property)
      },
    })
    const metadata = { name: randomUUID(), namespace: boundaryNamespace(B) }
    const group = { metadata, spec: { displayName: 'Ops', memberIds } }
    const peekAll = records.peekAll.bind(records)
    const counted = (kind: AnyKind, filter = {}) => (kind === PrincipalGroup ? [group] : peekAll(kind, filter))
    Object.assign(services, { records: Object.assign(records, { peekAll: counted }) })
    const { body } = await call(iamMemberRoutes, 'GET', `/boundaries/${B}/iam/members`, { caller: ANNA })
    const { items } = body as { items: { groups: object[] }[] }
    expect(items[0]?.groups).to.deep.equal([{ id: metadata.name, displayName: 'Ops' }])
    expect(reads).to.be.lessThan(10)
  })
})
