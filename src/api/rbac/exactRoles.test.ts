import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformUser } from '../../crds/identity.ts'
import { PlatformTenant } from '../../crds/rbac.ts'

const TENANT = '55555555-5555-4555-8555-555555555555'
const BERT = '33333333-3333-4333-8333-333333333333'
const B = `/boundaries/${BOUNDARY}`
const authorization = `${B}/providers/authorization`

describe('roleDefinitionName', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.grant(OWNER, 'Owner', '/')
    server.put(PlatformTenant, TENANT, { displayName: 'Acme' })
    server.put(PlatformUser, BERT, { userName: 'bert' }, SYSTEM_NAMESPACE)
  })
  afterEach(() => server.stop())

  const binding = { issuer: 'https://login.acme.example', claimValue: 'staff', scope: B }
  const requests: [path: string, body: object][] = [
    [`${B}/members`, { principalId: BERT }],
    [`${authorization}/roleAssignments`, { principalId: BERT }],
    [`${authorization}/groups`, { displayName: 'Team' }],
    [`${authorization}/invitations`, { email: 'carl@example.com' }],
    [`${authorization}/jitRequests`, { scope: B, justification: 'A release' }],
    ['/admin/iam/members', { userId: BERT, tenantId: TENANT }],
    [`/admin/tenants/${TENANT}/idp-bindings`, binding],
  ]
  for (const [path, body] of requests)
    it(`is matched exactly at POST ${path.replace(B, '{B}')}`, async () => {
      for (const roleDefinitionName of ['', ' Reader', 'Reader ', 'reader', 'Reader\u0000']) {
        const { status, body: answer } = await server.ask('post', path).send({ ...body, roleDefinitionName })
        expect([status, answer.code], JSON.stringify([roleDefinitionName, answer])).to.deep.equal([400, 'unknown_role'])
      }
    })
})
