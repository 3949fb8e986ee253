import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Authority, renewalReason } from './pki.ts'

const now = new Date('2026-11-21T00:00:00Z')
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)

describe('renewalReason', () => {
  const good = { validTo: inDays(365), names: ['localhost', '127.0.0.1'], signedByAuthority: true }
  const leaf = { names: ['localhost'], kind: 'leaf' } as const
  const cases: {
    title: string
    found: typeof good | undefined
    wanted: Parameters<typeof renewalReason>[1]
    reason: string | undefined
  }[] = [
    { title: 'is undefined for a valid certificate', found: good, wanted: leaf, reason: undefined },
    { title: 'is missing without a certificate', found: undefined, wanted: leaf, reason: 'missing' },
    {
      title: 'is near expiry 29 days before the expiry',
      found: { ...good, validTo: inDays(29) },
      wanted: leaf,
      reason: 'near expiry',
    },
    {
      title: 'is undefined 31 days before the expiry',
      found: { ...good, validTo: inDays(31) },
      wanted: leaf,
      reason: undefined,
    },
    {
      title: 'is near expiry for an authority 366 days before the expiry, as a leaf is valid for a year',
      found: { ...good, validTo: inDays(366) },
      wanted: { names: [], kind: 'authority' },
      reason: 'near expiry',
    },
    {
      title: 'is signed by another authority',
      found: { ...good, signedByAuthority: false },
      wanted: leaf,
      reason: 'signed by another authority',
    },
    {
      title: 'names a missing name',
      found: good,
      wanted: { names: ['localhost', 'kubernetes'], kind: 'leaf' },
      reason: 'does not name kubernetes',
    },
  ]
  for (const { title, found, wanted, reason } of cases) {
    it(title, () => expect(renewalReason(found, wanted, now)).to.equal(reason))
  }
})

describe('Authority', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-pki-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('reads the same authority again, whose key has the mode 600', async () => {
    const first = await Authority.open(folder, 'ca')
    expect((await Authority.open(folder, 'ca')).certPem).to.equal(first.certPem)
    expect((await stat(join(folder, 'ca.key'))).mode & 0o777).to.equal(0o600)
    expect(new X509Certificate(first.certPem).ca).to.equal(true)
  })

  it('issues a certificate with the requested names, organizations and purpose', async () => {
    const authority = await Authority.open(folder, 'ca')
    const pair = await authority.issue({
      commonName: 'a, b',
      organizations: ['x', 'y'],
      purpose: 'server',
      names: ['localhost', '127.0.0.1'],
    })
    const certificate = new X509Certificate(pair.certPem)
    expect(certificate.verify(new X509Certificate(authority.certPem).publicKey)).to.equal(true)
    expect(certificate.subject.split('\n')).to.include.members(['O=x', 'O=y'])
    expect(certificate.checkHost('localhost')).to.equal('localhost')
    expect(certificate.checkIP('127.0.0.1')).to.equal('127.0.0.1')
    expect(certificate.keyUsage).to.deep.equal(['1.3.6.1.5.5.7.3.1'])
    expect(certificate.ca).to.equal(false)
  })

  it('issues kept certificates again near their expiry and after its own renewal', async () => {
    const request = { commonName: 'x', purpose: 'client' } as const
    let clock = now
    const open = () => Authority.open(folder, 'ca', () => clock)
    const first = await (await open()).keep(folder, 'leaf', request)
    expect(await (await open()).keep(folder, 'leaf', request)).to.deep.equal(first)
    clock = inDays(340)
    const second = await (await open()).keep(folder, 'leaf', request)
    expect(second.certPem).to.not.equal(first.certPem)
    const old = await open()
    clock = inDays(3300)
    const renewed = await open()
    expect(renewed.certPem).to.not.equal(old.certPem)
    const third = await renewed.keep(folder, 'leaf', request)
    expect(new X509Certificate(third.certPem).verify(new X509Certificate(renewed.certPem).publicKey)).to.equal(true)
  })
})
