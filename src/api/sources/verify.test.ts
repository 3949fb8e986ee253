import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const READER = '33333333-3333-4333-8333-333333333333'

describe('POST /sources/registry/{id}/verify', () => {
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
    ['accepts the stored password without a user', {}, 200],
    ['accepts the stored password with the stored user', { username: 'robot' }, 200],
    ['requires a password for another user', { username: 'admin' }, 'missing-credential'],
    ['requires a password for another registry', { registryUrl: 'https://elsewhere.test' }, 'missing-credential'],
    ['accepts another user with a password', { username: 'admin', password: 'theirs' }, 200],
  ] as const) {
    it(title, async () => {
      const path = `/boundaries/${BOUNDARY}/sources/registry/${id}/verify`
      const { status, body: answer } = await shop.ask('post', path, READER).send(body)
      expect(due === 200 ? status : answer.code, JSON.stringify(answer)).to.equal(due)
    })
  }
})
