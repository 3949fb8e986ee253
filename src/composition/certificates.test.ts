import { X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { createAuthority, issueCertificate } from './certificates.ts'

const NOW = new Date('2026-11-30T12:00:00Z')

describe('certificates', () => {
  it('are valid for readers whose clock is an hour behind', async () => {
    const authority = await createAuthority('test', NOW)
    const leaf = await issueCertificate(authority, { commonName: 'hub', purpose: 'server', names: ['hub'] }, NOW)
    const hourAgo = NOW.getTime() - 3_600_000
    for (const { certPem } of [authority, leaf])
      expect(Date.parse(new X509Certificate(certPem).validFrom)).to.be.lessThan(hourAgo)
  })
})
