import { expect } from 'chai'
import { isCanonicalCidr, isCidr, isCidrList, sourceRanges } from './cidr.ts'

describe('isCanonicalCidr and isCidrList', () => {
  const canonical = [
    '0.0.0.0/0',
    '10.0.0.0/8',
    '10.1.2.3/32',
    '192.168.128.0/17',
    '255.255.255.255/32',
    '::/0',
    '2001:db8::/32',
    '2001:db8::1/128',
    'fe80::/10',
    '1:2:3:4:5:6:7:8/128',
    '2001:db8:0:1:1:1:1:1/128',
  ]
  const refused = [
    ['an address without a prefix length', '10.0.0.0'],
    ['a prefix length above 32 for IPv4', '10.0.0.0/33'],
    ['a prefix length above 128 for IPv6', '::/129'],
    ['host bits', '10.0.0.1/8'],
    ['a host bit behind an odd prefix length', '192.168.192.0/17'],
    ['host bits of IPv6', '2001:db8::1/32'],
    ['an IPv4-mapped IPv6 address', '::ffff:1.2.3.4/128'],
    ['an IPv4-mapped IPv6 address in hexadecimal', '::ffff:a00:0/104'],
    ['octal octets', '012.0.0.0/8'],
    ['hexadecimal octets', '0xa.0.0.0/8'],
    ['one number', '167772160/8'],
    ['an IPv4 address with a zone', '10.0.0.0%eth0/8'],
    ['a zone on a network of hosts', 'fe80::1%eth0/128'],
    ['something behind the prefix length', '10.0.0.0/8/'],
    ['a name', 'localhost/8'],
    ['upper-case letters', '2001:DB8::/32'],
    ['an uncompressed zero group', '2001:db8:0::/32'],
    ['a single compressed zero group', '2001:db8::1:1:1:1:1/128'],
    ['a leading zero', '010.0.0.0/8'],
    ['a leading zero in the prefix length', '10.0.0.0/08'],
    ['fewer than four octets', '10.0/8'],
    ['a zone', 'fe80::%eth0/10'],
    ['two prefix lengths', '10.0.0.0/8/8'],
    ['a leading space', ' 10.0.0.0/8'],
    ['a prefix length without an address', '/8'],
    ['an empty string', ''],
  ] as const

  for (const text of canonical) it(`accept ${text}`, () => expect(isCanonicalCidr(text)).to.equal(true))
  for (const [what, text] of refused) it(`reject ${what}`, () => expect(isCanonicalCidr(text)).to.equal(false))

  it('accept a list of at most 50 networks without spaces', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `10.0.${index}.0/24`).join(',')
    expect([many(50), many(51), '10.0.0.0/8, ::/0', ''].map(isCidrList)).to.deep.equal([true, false, false, false])
  })
})

describe('isCidr', () => {
  for (const text of ['10.0.0.0/8', '10.0.0.1/8', '0.0.0.0/0', '10.0.0.0/32', '::/0', '2001:DB8::1/128'])
    it(`accepts ${text}`, () => expect(isCidr(text)).to.equal(true))
  const refused =
    '10.0.0.0 10.0.0.0/ /8 10.0.0.0/33 ::/129 10.0.0.0/08 10.0.0.0/8/8 10.0.0.0/1e1 fe80::1%eth0/64 host/8'
  for (const text of refused.split(' ')) it(`rejects ${text}`, () => expect(isCidr(text)).to.equal(false))
})

describe('sourceRanges', () => {
  it('restricts to the networks of a list, and does not restrict without one', () => {
    expect(sourceRanges('10.0.0.0/8,::/0')).to.deep.equal(['10.0.0.0/8', '::/0'])
    expect([sourceRanges(undefined), sourceRanges('')]).to.deep.equal([undefined, undefined])
  })
})
