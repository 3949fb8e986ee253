import { expect } from 'chai'
import { openedNetwork } from './networks.ts'

describe('openedNetwork', () => {
  it('leaves private networks, metadata services and closed networks out of everything', () => {
    const { except = [] } = openedNetwork('0.0.0.0/0@443', ['203.0.113.0/24', 'fd00::1/128'])
    expect(except).to.include.members(['10.0.0.0/8', '169.254.0.0/16', '168.63.129.16/32', '192.0.0.192/32'])
    expect(except.at(-1)).to.equal('203.0.113.0/24')
    expect(openedNetwork('::/0', ['fd00::1/128']).except).to.include.members(['fc00::/7', 'fe80::/10', 'fd00::1/128'])
  })

  it('opens any other network as it is', () => {
    expect(openedNetwork('10.1.2.3/32@443+5000', ['10.0.0.0/8'])).to.deep.equal({
      cidr: '10.1.2.3/32',
      ports: [443, 5000],
    })
  })
})
