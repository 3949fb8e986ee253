import { expect } from 'chai'
import { parseRemoteCopyPath, remoteCopyName, remoteCopyPath } from './remoteCopies.ts'

const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const COPY = { namespace: 'shop-1a2b', name: 'home.orders', clusterId: CLUSTER, pod: 'sfn-home.orders-7d9-x2x' }

describe('the path of a copy in another cluster', () => {
  it('says the same to whoever reads it as whoever wrote it meant', () => {
    expect(parseRemoteCopyPath(remoteCopyPath(COPY, remoteCopyName(COPY)))).to.deep.equal(COPY)
  })

  const good = `/functions/shop/home.orders/copies/${CLUSTER}/pod-1`
  const REFUSED: readonly [what: string, path: string | undefined][] = [
    ['nothing', undefined],
    ['what a replica asks for', `/clusters/${CLUSTER}/api/v1/secrets`],
    ['more of the pod', `${good}/exec`],
    ['a query', `${good}?ports=22`],
    ['a way up', `/functions/shop/home.orders/copies/${CLUSTER}/../secrets`],
    ['an encoded slash', `/functions/shop/home.orders/copies/${CLUSTER}/pod%2fexec`],
    ['no cluster', '/functions/shop/home.orders/copies/far/pod-1'],
    ['a line break', `${good}\n`],
    ['dots alone', `/functions/../home.orders/copies/${CLUSTER}/pod-1`],
  ]
  for (const [what, path] of REFUSED)
    it(`is not ${what}`, () => {
      expect(parseRemoteCopyPath(path)).to.equal(undefined)
    })
})
