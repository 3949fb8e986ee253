import { expect } from 'chai'
import { clientSecretCheck } from './clientSecrets.ts'
import type { IdentityClient } from './clients.ts'

const ID = '11111111-1111-4111-8111-111111111111'

describe('a secret that is shown elsewhere than at the provider', () => {
  const account: IdentityClient = { clientId: ID, secret: 'right', displayName: 'Pipeline', isEnabled: true, uid: 'u1' }
  const cases: { title: string; stored: IdentityClient | undefined; secret: string; isRight: boolean }[] = [
    { title: 'is right if it is that of the account', stored: account, secret: 'right', isRight: true },
    { title: 'is wrong if it differs', stored: account, secret: 'righ', isRight: false },
    {
      title: 'is wrong for a disabled account',
      stored: { ...account, isEnabled: false },
      secret: 'right',
      isRight: false,
    },
    { title: 'is wrong for an account that nobody has', stored: undefined, secret: 'right', isRight: false },
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
