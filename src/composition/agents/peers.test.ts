import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { messageOf } from '../../core/errors.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { type CertificatePair, createAuthority } from '../certificates.ts'
import { currentPeerCertificate, ensurePeerCertificates, readPeerCertificate } from './peers.ts'

const DAY = 86_400_000

describe('the peer certificate of replicas', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const client = new FakeKubeClient()
  let authority: CertificatePair
  before(async () => {
    authority = await createAuthority('test', now)
  })

  it('is replaced when it is valid for less than half a year', async () => {
    await ensurePeerCertificates(client, authority, now)
    const first = await readPeerCertificate(client)
    await ensurePeerCertificates(client, authority, new Date(now.getTime() + 180 * DAY))
    expect(await readPeerCertificate(client)).to.deep.equal(first)
    await ensurePeerCertificates(client, authority, new Date(now.getTime() + 186 * DAY))
    expect((await readPeerCertificate(client)).certificate).to.not.equal(first.certificate)
  })

  it('is read again by a running process, which keeps it while the API server does not answer', async () => {
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

  it('is not available without an API server', async () => {
    expect(await currentPeerCertificate(() => undefined)().catch(messageOf)).to.equal('No API server is known yet.')
  })
})
