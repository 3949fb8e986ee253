import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const READER = '33333333-3333-4333-8333-333333333333'

describe('the check of the credentials of a registry', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  const id = randomUUID()
  before(async () => {
    shop = await startShop()
    shop.grant(READER, 'Reader', `/boundaries/${BOUNDARY}`)
    const spec = { provider: 'Registry', displayName: 'Ours', baseUrl: 'https://registry.test', username: 'robot' }
    shop.put(DeploymentSource, id, spec, boundaryNamespace(BOUNDARY))
  })
  after(() => shop.stop())

  for (const [title, body, due] of [
    ['sends the stored password with the stored user', {}, 200],
    ['sends it with the same user by name', { username: 'robot' }, 200],
    ['never sends it with another user', { username: 'admin' }, 'missing-credential'],
    ['never sends it elsewhere', { registryUrl: 'https://elsewhere.test' }, 'missing-credential'],
    ['takes another user with a password', { username: 'admin', password: 'theirs' }, 200],
  ] as const) {
    it(title, async () => {
      const path = `/boundaries/${BOUNDARY}/sources/registry/${id}/verify`
      const { status, body: told } = await shop.ask('post', path, READER).send(body)
      expect(due === 200 ? status : told.code, JSON.stringify(told)).to.equal(due)
    })
  }
})
