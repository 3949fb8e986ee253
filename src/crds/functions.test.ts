import { expect } from 'chai'
import { ServerlessFunction } from './functions.ts'

describe('code of a function, by kubectl', () => {
  const [beside] = ServerlessFunction.beside ?? []
  const rules = beside?.rules ?? []

  it('is chosen by those who may read what its namespace gives it: an identity, secrets and outputs', () => {
    expect(beside?.of).to.equal('FunctionNamespace')
    const words = rules.map(({ cel, message }) => `${message} ${cel}`)
    for (const part of ['managedidentities', 'secretvaults', 'relationalclusters'])
      expect(
        words.some((text) => text.includes(part)),
        part,
      ).to.equal(true)
  })

  it('may stay as it is by anybody who writes functions, and be chosen where another namespace gives it something', () => {
    expect(rules).to.have.length(3)
    for (const { on, cel } of rules) {
      expect(on).to.equal('WRITE')
      expect(cel).to.include('params.metadata.name != object.spec.namespaceName ||')
      expect(cel).to.include(
        'object.spec.?env == oldObject.spec.?env && object.spec.?handler == oldObject.spec.?handler',
      )
    }
  })
})
