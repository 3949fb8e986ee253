import { expect } from 'chai'
import { KINDS } from './index.ts'

describe('admission rules that refuse the deletion of an object in use', () => {
  const refusals = KINDS.flatMap(({ kind, admission = [] }) =>
    admission.filter(({ on, cel }) => on === 'DELETE' && cel.includes('heldBy')).map((rule) => ({ kind, ...rule })),
  )
  const messages: Readonly<Record<string, RegExp>> = {
    Boundary: /still has resource groups.*delete them first/i,
    ResourceGroup: /holds protected resources or kept volumes.*remove the protection, or delete them first/i,
    DeploymentSource: /is still used by resources.*give them another source, or delete them first/i,
    ObjectStorageAccount: /still has buckets.*delete them first/i,
  }
  it('exist for four kinds', () => {
    expect(refusals.map(({ kind }) => kind)).to.have.members(Object.keys(messages))
  })
  for (const { kind, message, messageCel } of refusals)
    it(`name the users of a ${kind} and what to do`, () => {
      expect(message).to.match(messages[kind] ?? /^$/)
      expect(messageCel).to.match(messages[kind] ?? /^$/)
      if (kind !== 'ResourceGroup') expect(`${message} ${messageCel}`).to.not.match(/protect/)
    })
})
