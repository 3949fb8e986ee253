import { expect } from 'chai'
import { PlatformApiError } from '../client/index.ts'
import { ownerOfClaim, withKeptVolumes } from './keptData.ts'

describe('kept volumes', () => {
  for (const [claim, expected] of [
    ['storage-vc-products-0', { noun: 'vectorclusters', name: 'products' }],
    ['storage-sqli-my-books-0', { noun: 'sqlclusters', name: 'my-books' }],
    ['relc-orders-1', { noun: 'relationalclusters', name: 'orders' }],
    ['relc-orders-1-wal', { noun: 'relationalclusters', name: 'orders' }],
    ['storage-vc-a-name-that-was-cut-0123456789abcdef-0', undefined],
    ['anything', undefined],
  ] as const) {
    it(`are of their resource: ${claim}`, () => expect(ownerOfClaim(claim)).to.deep.equal(expected))
  }

  const refusal = (code: string, ...resources: string[]) =>
    new PlatformApiError(409, new Headers(), JSON.stringify({ error: 'It holds something.', code, resources }))

  it('are told of with the command that deletes them, once for each resource', () => {
    const claims = [
      'persistentvolumeclaims/storage-vc-old-0',
      'persistentvolumeclaims/storage-vc-old-1',
      'vectorclusters/x',
    ]
    const { message } = withKeptVolumes(refusal('DELETION_PROTECTED', ...claims), 'shop', ['-b', 'id']) as Error
    expect(message.split('\n').filter((line) => line.includes('freehold'))).to.deep.equal([
      '  freehold delete vectorclusters old -g shop -b id --kept-data',
    ])
  })

  it('are no part of other refusals', () => {
    for (const error of [refusal('DELETION_PROTECTED', 'vectorclusters/x'), refusal('IN_USE'), new Error('x')])
      expect(withKeptVolumes(error, 'shop', [])).to.equal(error)
  })
})
