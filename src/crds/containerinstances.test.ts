import { expect } from 'chai'
import { HostName } from './containerinstances.ts'

describe('HostName', () => {
  for (const [what, host, isTaken] of [
    ['a DNS name', 'shop.example.com', true],
    ['a DNS name with digits', '4.shop24.example.xn--p1ai', true],
    ['an IPv4 address', '203.0.113.7', false],
    ['an IPv4 address with a label before it', 'shop.203.0.113.7', false],
    ['a single label', 'shop', false],
    ['a name with a trailing dot', 'shop.example.com.', false],
    ['a wildcard', '*.example.com', false],
    ['a label with a leading hyphen', '-shop.example.com', false],
  ] as const) {
    it(`${isTaken ? 'accepts' : 'rejects'} ${what}`, () => {
      expect(HostName.safeParse(host).success).to.equal(isTaken)
    })
  }
})
