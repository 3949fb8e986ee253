import { expect } from 'chai'
import { parseScope } from '../core/scope.ts'
import { KINDS } from '../crds/index.ts'
import { formerScope, isFormerScope } from './formerScope.ts'

const GROUP = '/boundaries/11111111-1111-4111-8111-111111111111/resourcegroups/shop'

describe('formerScope', () => {
  it('returns a scope of the same name that no kind of resource has', () => {
    for (const { segment } of KINDS.filter(({ placement }) => placement === 'group')) {
      const scope = `${GROUP}/resources/${segment}/orders`
      const former = formerScope(scope) ?? ''
      expect(parseScope(former)).to.deep.include({ level: 'resource', name: 'orders' })
      expect([isFormerScope(scope), isFormerScope(former)]).to.deep.equal([false, true])
    }
  })
  it('returns the scope for a resource in a group named resources', () => {
    const group = `${GROUP.slice(0, GROUP.lastIndexOf('/'))}/resources`
    expect(formerScope(`${group}/resources/jobs/a`)).to.equal(`${group}/resources/formerjobs/a`)
    expect(formerScope(group)).to.equal(undefined)
  })
  it('returns undefined for the root, a group and a boundary', () => {
    for (const scope of ['/', GROUP, GROUP.slice(0, GROUP.indexOf('/resourcegroups'))])
      expect(formerScope(scope)).to.equal(undefined)
  })
})
