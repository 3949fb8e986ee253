import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { OWNER, startShop } from '../../../test/worlds/shop.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformTenant } from '../../crds/rbac.ts'

describe('the removal of a tenant', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
    server.grant(OWNER, 'Platform Owner', '/')
  })
  afterEach(() => server.stop())

  for (const [title, owned, status] of [
    ['is refused while a boundary belongs to it', true, 409],
    ['is done when nothing does', false, 204],
  ] as const)
    it(`${title}: ${status}`, async () => {
      const tenantId = randomUUID()
      server.put(PlatformTenant, tenantId, { displayName: 'Acme' })
      if (owned) server.put(Boundary, randomUUID(), { displayName: 'Own', tenantId })
      expect((await server.ask('delete', `/admin/tenants/${tenantId}`)).status).to.equal(status)
    })
})
