import { expect } from 'chai'
import { describeRemainingContent } from './namespaceContent.ts'

const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }

describe('describeRemainingContent', () => {
  it('returns the message of NamespaceContentRemaining, or nothing without conditions', () => {
    const conditions = [
      { type: 'NamespaceContentRemaining', status: 'True', message: 'Some resources are remaining: pods. has 2.' },
      { type: 'NamespaceFinalizersRemaining', status: 'False', message: 'none' },
    ]
    const terminating = { ...space, status: { conditions } }
    expect(describeRemainingContent(terminating)).to.equal(' (Some resources are remaining: pods. has 2)')
    expect(describeRemainingContent(space)).to.equal('')
    expect(describeRemainingContent(undefined)).to.equal('')
  })

  it('returns the message of NamespaceDeletionDiscoveryFailure', () => {
    const message = 'Discovery failed for some groups, 1 failing: metrics.k8s.io/v1beta1: stale GroupVersion discovery'
    const conditions = [{ type: 'NamespaceDeletionDiscoveryFailure', status: 'True', message }]
    expect(describeRemainingContent({ ...space, status: { conditions } })).to.equal(` (${message})`)
  })
})
