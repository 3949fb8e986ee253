import { expect } from 'chai'
import { isCanonicalCidr, isCidrList } from './cidr.ts'

describe('networks in CIDR notation', () => {
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
    ['no prefix', '10.0.0.0'],
    ['a prefix too long for IPv4', '10.0.0.0/33'],
    ['a prefix too long for IPv6', '::/129'],
    ['bits behind the prefix', '10.0.0.1/8'],
    ['the last bit of an odd prefix', '192.168.192.0/17'],
    ['bits behind the prefix of IPv6', '2001:db8::1/32'],
    ['an IPv4 address in IPv6', '::ffff:1.2.3.4/128'],
    ['capitals', '2001:DB8::/32'],
    ['zeros written out', '2001:db8:0::/32'],
    ['a single zero left out', '2001:db8::1:1:1:1:1/128'],
    ['a leading zero', '010.0.0.0/8'],
    ['a leading zero in the prefix', '10.0.0.0/08'],
    ['fewer than four parts', '10.0/8'],
    ['a zone', 'fe80::%eth0/10'],
    ['two prefixes', '10.0.0.0/8/8'],
    ['a space', ' 10.0.0.0/8'],
    ['no address', '/8'],
    ['nothing', ''],
  ] as const

  for (const text of canonical) it(`takes ${text}`, () => expect(isCanonicalCidr(text)).to.equal(true))
  for (const [what, text] of refused) it(`refuses ${what}`, () => expect(isCanonicalCidr(text)).to.equal(false))

  it('takes a list of at most 50, without spaces', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `10.0.${index}.0/24`).join(',')
    expect([many(50), many(51), '10.0.0.0/8, ::/0', ''].map(isCidrList)).to.deep.equal([true, false, false, false])
  })
})
