import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PlatformTenant, PrincipalGroup, RoleAssignment } from '../../crds/rbac.ts'
import { IdpBinding } from '../../crds/sso.ts'

const TENANT = '55555555-5555-4555-8555-555555555555'
const GROUP = '44444444-4444-4444-8444-444444444444'
const BERT = '33333333-3333-4333-8333-333333333333'
const B = `/boundaries/${BOUNDARY}`

describe('a request that removes several objects', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.grant(OWNER, 'Platform Owner', '/')
    server.grant(BERT, 'Reader', B)
    server.grant(GROUP, 'Reader', B)
    server.put(PlatformTenant, TENANT, { displayName: 'Acme' })
    server.put(PlatformUser, OWNER, { userName: 'owner', tenantIds: [TENANT] }, SYSTEM_NAMESPACE)
    server.put(PlatformUser, BERT, { userName: 'bert' }, SYSTEM_NAMESPACE)
    server.put(PrincipalGroup, GROUP, { displayName: 'Ops', memberIds: [BERT] }, boundaryNamespace(BOUNDARY))
  })
  afterEach(() => server.stop())

  const snapshot = async () => {
    const kinds = [Boundary, PrincipalGroup, RoleAssignment, IdpBinding]
    const lists = await Promise.all(kinds.map(({ resource }) => server.client.list(resource)))
    return lists.flatMap(({ items }) => items.map(({ metadata, spec }) => ({ name: metadata.name, spec })))
  }

  const group = `${B}/providers/authorization/groups/${GROUP}`
  const requests: [title: string, method: 'delete' | 'post', path: string, body: object][] = [
    ['DELETE of a group', 'delete', group, {}],
    ['POST {B}/tenant', 'post', `${B}/tenant`, { tenantId: TENANT }],
    ['POST tenant-move', 'post', `${B}/providers/authorization/tenant-move`, { tenantId: TENANT }],
    ['POST {B}/tenant with the current tenant', 'post', `${B}/tenant`, { tenantId: null }],
  ]
  for (const [title, method, path, body] of requests)
    it(`returns 409 for an outdated If-Match and changes nothing: ${title}`, async () => {
      const before = await snapshot()
      const { status, body: answer } = await server.ask(method, path).set('if-match', '"99-1-other"').send(body)
      expect([status, String(answer.code).toLowerCase()], JSON.stringify(answer)).to.deep.equal([409, 'conflict'])
      expect(await snapshot()).to.deep.equal(before)
      expect((await server.ask(method, path).send(body)).status).to.be.within(200, 204)
    })

  const removals: [title: string, method: 'delete' | 'post', path: string, body: object][] = [
    ...requests.slice(0, 3),
    ['DELETE of an IAM member', 'delete', `${B}/iam/members/${BERT}`, {}],
    ['DELETE of a platform member', 'delete', `/admin/iam/members/${BERT}/${TENANT}`, {}],
  ]
  for (const [title, method, path, body] of removals)
    it(`succeeds if the same assignments are removed concurrently: ${title}`, async () => {
      for (const id of [BERT, GROUP]) server.grant(id, 'Contributor', B)
      const member = { userId: BERT, tenantId: TENANT }
      for (const roleDefinitionName of path.startsWith('/admin') ? ['Reader', 'Platform Reader'] : [])
        await server.ask('post', '/admin/iam/members').send({ ...member, roleDefinitionName })
      const remove = server.client.remove.bind(server.client)
      const cached = server.caches.get(RoleAssignment.resource)
      const others = () => cached.list().filter(({ spec }) => (spec as { principalId: string }).principalId !== OWNER)
      let left = 0
      server.client.remove = (async (...given: Parameters<typeof remove>) => {
        const answer = await remove(...given)
        if (given[0] !== RoleAssignment.resource || left > 0) return answer
        await until('it is in the cache', async () => !others().some(({ metadata }) => metadata.name === given[1].name))
        left = others().length
        for (const other of others()) await remove(RoleAssignment.resource, refOf(other))
        await until('all removals are in the cache', async () => others().length === 0)
        return answer
      }) as typeof remove
      const { status, body: answer } = await server.ask(method, path).send(body)
      expect(status, JSON.stringify(answer)).to.be.within(200, 204)
      expect(left).to.be.greaterThan(0)
    })

  for (const [title, method, path, body] of removals.slice(1, 4))
    it(`succeeds if the group of the member is deleted concurrently: ${title}`, async () => {
      const remove = server.client.remove.bind(server.client)
      const ref = { namespace: boundaryNamespace(BOUNDARY), name: GROUP }
      let isDeleted = false
      server.client.remove = (async (...given: Parameters<typeof remove>) => {
        if (!isDeleted) await remove(PrincipalGroup.resource, ref)
        isDeleted = true
        return remove(...given)
      }) as typeof remove
      const { status, body: answer } = await server.ask(method, path).send(body)
      expect(status, JSON.stringify(answer)).to.be.within(200, 204)
      expect(isDeleted).to.equal(true)
    })
})
