import { expect } from 'chai'
import { clientSecretCheck } from './clientSecrets.ts'
import type { IdentityClient } from './clients.ts'

const ID = '11111111-1111-4111-8111-111111111111'

describe('clientSecretCheck', () => {
  const account: IdentityClient = { clientId: ID, secret: 'right', displayName: 'Pipeline', isEnabled: true, uid: 'u1' }
  const cases: { title: string; stored: IdentityClient | undefined; secret: string; isRight: boolean }[] = [
    { title: 'accepts the secret of the account', stored: account, secret: 'right', isRight: true },
    { title: 'rejects another secret', stored: account, secret: 'righ', isRight: false },
    {
      title: 'rejects the secret of a disabled account',
      stored: { ...account, isEnabled: false },
      secret: 'right',
      isRight: false,
    },
    { title: 'rejects an unknown account', stored: undefined, secret: 'right', isRight: false },
  ]
  for (const { title, stored, secret, isRight } of cases) {
    it(title, async () => {
      const seen: string[] = []
      const check = clientSecretCheck({ find: async () => stored }, { gotToken: (id) => seen.push(id) })
      expect(await check(ID, secret)).to.deep.equal(isRight ? account : undefined)
      expect(seen, 'who was seen').to.deep.equal(isRight ? [ID] : [])
    })
  }
})
