import { expect } from 'chai'
import { isInsideAddress } from './insideAddress.ts'

describe('isInsideAddress', () => {
  const cases: [string, boolean][] = [
    ['10.1.2.3', true],
    ['192.168.0.9', true],
    ['127.0.0.1', true],
    ['93.184.216.34', true],
    ['::1', true],
    ['fd12:3456::1', true],
    ['::ffff:10.0.0.1', true],
    ['169.254.169.254', false],
    ['169.254.1.1', false],
    ['::ffff:169.254.169.254', false],
    ['::169.254.169.254', false],
    ['::10.0.0.1', true],
    ['::a9fe:a9fe', false],
    ['::a00:1', true],
    ['64:ff9b::a9fe:a9fe', false],
    ['2002:a9fe:a9fe::1', false],
    ['fe80::1', false],
    ['fd00:ec2::254', false],
    ['fd00:0ec2:0:0::254', false],
    ['100.100.100.200', false],
    ['168.63.129.16', false],
    ['192.0.0.192', false],
    ['fd20:ce::254', false],
    ['0.0.0.0', false],
    ['::', false],
    ['255.255.255.255', false],
    ['224.0.0.1', false],
    ['fe80::1%eth0', false],
    ['fd12:3456::1%eth0', false],
    ['store.example.com', false],
  ]
  for (const [address, isAllowed] of cases) {
    it(`is ${isAllowed} for ${address}`, () => expect(isInsideAddress(address)).to.equal(isAllowed))
  }
})
