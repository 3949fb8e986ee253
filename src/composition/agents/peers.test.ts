import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { messageOf } from '../../core/errors.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { type CertificatePair, createAuthority } from '../certificates.ts'
import { currentPeerCertificate, ensurePeerCertificates, readPeerCertificate } from './peers.ts'

const DAY = 86_400_000

describe('the certificate with which replicas enter tunnels of each other', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const client = new FakeKubeClient()
  let authority: CertificatePair
  before(async () => {
    authority = await createAuthority('test', now)
  })

  it('is replaced once it is good for less than half a year, and no sooner', async () => {
    await ensurePeerCertificates(client, authority, now)
    const first = await readPeerCertificate(client)
    await ensurePeerCertificates(client, authority, new Date(now.getTime() + 180 * DAY))
    expect(await readPeerCertificate(client)).to.deep.equal(first)
    await ensurePeerCertificates(client, authority, new Date(now.getTime() + 186 * DAY))
    expect((await readPeerCertificate(client)).certificate).to.not.equal(first.certificate)
  })

  it('is read again by a process that runs, which goes on with it while the API server is away', async () => {
    let isAway = false
    let reads = 0
    const get: FakeKubeClient['get'] = async (...given) => {
      reads += 1
      if (isAway) throw new Error('No answer.')
      return client.get(...given)
    }
    const current = currentPeerCertificate(() => ({ get }), 1)
    const first = await current()
    await ensurePeerCertificates(client, authority, new Date(now.getTime() + 400 * DAY))
    const replaced = await readPeerCertificate(client)
    expect(replaced).to.not.deep.equal(first)
    await until('it is the one that replaced it', async () => (await current()).certificate === replaced.certificate)
    isAway = true
    const before = reads
    await until('it was asked for again', async () => {
      expect(await current()).to.deep.equal(replaced)
      return reads > before
    })
  })

  it('is awaited where there is none yet', async () => {
    expect(await currentPeerCertificate(() => undefined)().catch(messageOf)).to.equal('No API server is known yet.')
  })
})
