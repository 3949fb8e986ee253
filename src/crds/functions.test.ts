import { expect } from 'chai'
import { ServerlessFunction } from './functions.ts'

describe('code of a function, by kubectl', () => {
  const rules = (ServerlessFunction.admission ?? []).filter(({ message }) => message.includes('a changed handler'))

  it('is chosen by those who may read all secrets and credentials of the group: its namespace may give it any', () => {
    const asked = rules.map(({ cel }) =>
      /resource\('(\w+)'\)\.namespace.*check\('(\w+)'\)/.exec(cel)?.slice(1).join(' '),
    )
    expect(asked).to.deep.equal([
      'secretvaults readsecrets',
      'vectorclusters readsecrets',
      'relationalclusters readsecrets',
      'sqlinstances readsecrets',
      'objectstorageaccounts createkeys',
      'managedidentities readsecrets',
    ])
  })

  it('may stay as it is by anybody who writes functions', () => {
    for (const { on, cel } of rules) {
      expect(on).to.equal('WRITE')
      expect(cel).to.include(
        'object.spec.?env == oldObject.spec.?env && object.spec.?handler == oldObject.spec.?handler',
      )
    }
  })

  it('asks the authorizer once in each rule: two questions are all that an expression has room for', () => {
    for (const { cel } of rules) expect(cel.match(/\.check\(/g)).to.have.length(1)
  })
})
