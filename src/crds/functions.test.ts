import { expect } from 'chai'
import { ServerlessFunction } from './functions.ts'

describe('admission rules of ServerlessFunction', () => {
  const [beside] = ServerlessFunction.beside ?? []
  const rules = beside?.rules ?? []

  it("check who may read the identity, secrets and outputs of the function's namespace", () => {
    expect(beside?.of).to.equal('FunctionNamespace')
    const texts = rules.map(({ cel, message }) => `${message} ${cel}`)
    for (const part of ['managedidentities', 'secretvaults', 'relationalclusters'])
      expect(
        texts.some((text) => text.includes(part)),
        part,
      ).to.equal(true)
  })

  it("apply only if the function's env or handler changes, in the function's own namespace", () => {
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
