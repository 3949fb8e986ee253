import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { RoleDefinition } from '../../crds/rbac.ts'

const B = '11111111-1111-4111-8111-111111111111'
const OWNER = '22222222-2222-4222-8222-222222222222'
const OTHER = '33333333-3333-4333-8333-333333333333'
const ROLE = 'Bad pattern'

describe('a stored role with an invalid action pattern', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  beforeEach(async () => {
    server = await startFacade()
    server.boundary(B)
    server.grant(OWNER, 'Owner', '/')
    const { apiVersion, kind, resource } = RoleDefinition
    const spec = { displayName: ROLE, actions: ['a', 'vectorcluster/read'], assignableScopes: ['/boundaries/*'] }
    const stored = server.client.seed(resource, { apiVersion, kind, metadata: { name: 'bad' }, spec })
    server.caches.get(resource).observeWrite(stored)
  })
  afterEach(() => server.stop())

  const requests: Record<string, object> = {
    'providers/authorization/roleAssignments': {
      principalId: OTHER,
      principalType: 'User',
      roleDefinitionName: ROLE,
      scope: `/boundaries/${B}`,
    },
    members: { principalId: OTHER, principalType: 'User', roleDefinitionName: ROLE },
    'providers/authorization/invitations': { email: 'ada@example.test', roleDefinitionName: ROLE },
    'providers/authorization/jitRequests': {
      roleDefinitionName: ROLE,
      scope: `/boundaries/${B}`,
      durationMinutes: 60,
      justification: 'a fault',
    },
  }
  for (const [path, body] of Object.entries(requests)) {
    it(`is rejected by name at POST ${path}`, async () => {
      const before = server.client.calls.length
      const answer = await request(server.app)
        .post(`/boundaries/${B}/${path}`)
        .set('authorization', bearer(OWNER))
        .send(body)
      expect(answer.status, JSON.stringify(answer.body)).to.be.within(400, 422)
      expect(JSON.stringify(answer.body)).to.include(ROLE)
      // Only leases, which serialise requests.
      const written = server.client.calls.slice(before).filter(({ resource }) => !resource.startsWith('leases.'))
      expect(written).to.deep.equal([])
    })
  }
})
