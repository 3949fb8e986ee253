import { expect } from 'chai'
import { HostName } from './containerinstances.ts'

describe('a host that a resource is served under', () => {
  for (const [what, host, isTaken] of [
    ['a name', 'shop.example.com', true],
    ['a name with digits', '4.shop24.example.xn--p1ai', true],
    ['an address', '203.0.113.7', false],
    ['an address with a name before it', 'shop.203.0.113.7', false],
    ['a single label', 'shop', false],
    ['a name that ends in a dot', 'shop.example.com.', false],
    ['a wildcard', '*.example.com', false],
    ['a label that begins with a hyphen', '-shop.example.com', false],
  ] as const) {
    it(`${isTaken ? 'may be' : 'is not'} ${what}`, () => {
      expect(HostName.safeParse(host).success).to.equal(isTaken)
    })
  }
})
