import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { keycloakAdmin } from '../../src/adapters/identity/keycloakAdmin.ts'
import type { UserDirectory } from '../../src/adapters/identity/port.ts'
import { directoryPrincipalStatus } from '../../src/api/callers/directoryPrincipalStatus.ts'
import { systemClock } from '../../src/core/clock.ts'
import { until } from '../make/until.ts'

type World = {
  users: UserDirectory
  /** Makes one. */
  serviceAccount: () => Promise<{ principalId: string }>
  administrator: () => ReturnType<typeof keycloakAdmin>
}

/** Keycloak, which manages people itself, reports the state of callers. */
export function directoryStandingSuite(worldOf: () => World): void {
  it('directoryPrincipalStatus() reports disabled and deleted people, and no service account', async () => {
    const { users, serviceAccount, administrator } = worldOf()
    const { principalId } = await serviceAccount()
    const person = { userName: randomUUID(), email: `${randomUUID()}@example.com`, emailVerified: true }
    const { id } = await users.create({ ...person, id: randomUUID() })
    // Cached answers would be used for a minute.
    const fresh = () => directoryPrincipalStatus({ users, clock: systemClock })
    const isTold = (end: 'disabled' | 'deleted') => {
      const standing = fresh()
      return until(`they are ${end}`, async () => (await standing.endOf(id, 'User')) === end)
    }
    expect(await fresh().endOf(id, 'User')).to.equal(undefined)
    expect(await fresh().endOf(principalId, 'ServicePrincipal')).to.equal(undefined)
    await users.update(id, { isEnabled: false })
    await isTold('disabled')
    await administrator().call('DELETE', `/users/${id}`)
    await isTold('deleted')
  })
}
