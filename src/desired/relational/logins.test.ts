import { expect } from 'chai'
import { relationalInput } from '../../../test/make/relational.ts'
import { LOGINS, loginSecret } from './index.ts'

describe('loginSecret', () => {
  for (const login of LOGINS) {
    it(`returns a basic-auth Secret of ${login} that CloudNativePG reloads`, () => {
      const input = relationalInput({})
      const { metadata, type, data } = loginSecret(input.cluster, login, { username: 'u', password: 'p' })
      expect(metadata).to.include({ name: `relc${login}-orders`, namespace: 'shop-0123456789' })
      expect(metadata.labels?.['cnpg.io/reload']).to.equal('true')
      expect([type, data]).to.deep.equal(['kubernetes.io/basic-auth', { username: 'dQ==', password: 'cA==' }])
    })
  }
})
