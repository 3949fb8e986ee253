import { expect } from 'chai'
import { parseRemoteCopyPath, remoteCopyName, remoteCopyPath } from './remoteCopies.ts'

const CLUSTER = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const COPY = { namespace: 'shop-1a2b', name: 'home.orders', clusterId: CLUSTER, pod: 'sfn-home.orders-7d9-x2x' }

describe('remoteCopyPath and parseRemoteCopyPath', () => {
  it('read back what they wrote', () => {
    expect(parseRemoteCopyPath(remoteCopyPath(COPY, remoteCopyName(COPY)))).to.deep.equal(COPY)
  })

  const good = `/functions/shop/home.orders/copies/${CLUSTER}/pod-1`
  const REFUSED: readonly [what: string, path: string | undefined][] = [
    ['undefined', undefined],
    ['a path for a replica', `/clusters/${CLUSTER}/api/v1/secrets`],
    ['a longer path of the pod', `${good}/exec`],
    ['a query', `${good}?ports=22`],
    ['a path with ..', `/functions/shop/home.orders/copies/${CLUSTER}/../secrets`],
    ['an encoded slash', `/functions/shop/home.orders/copies/${CLUSTER}/pod%2fexec`],
    ['an invalid cluster id', '/functions/shop/home.orders/copies/far/pod-1'],
    ['a line break', `${good}\n`],
    ['a name of dots', `/functions/../home.orders/copies/${CLUSTER}/pod-1`],
  ]
  for (const [what, path] of REFUSED)
    it(`reject ${what}`, () => {
      expect(parseRemoteCopyPath(path)).to.equal(undefined)
    })
})
