import { expect } from 'chai'
import { ServerlessFunction } from './functions.ts'
import { namespaceSecretsAdmission } from './namespaceSecrets.ts'

describe('admission rules of ServerlessFunction', () => {
  const [mayRead] = namespaceSecretsAdmission

  it('check namespaceSecrets in each write that changes env, handler or the list itself', () => {
    expect(ServerlessFunction.admission).to.include.members(namespaceSecretsAdmission)
    expect(mayRead?.on).to.equal('WRITE')
    for (const field of ['env', 'handler', 'namespaceSecrets'])
      expect(mayRead?.cel).to.include(`object.spec.?${field} == oldObject.spec.?${field}`)
  })

  it('name the identity, secrets and outputs that the list may have', () => {
    for (const part of ['managedidentities', 'secretvaults', 'relationalclusters'])
      expect(mayRead?.cel).to.include(part)
  })
})
