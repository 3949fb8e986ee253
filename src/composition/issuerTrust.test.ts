import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { Authority } from '../../scripts/controlplane/pki.ts'
import { keyFetcher } from '../api/callers/tokenKeys.ts'
import { issuerSecretCheck } from './areas/clientSignIn.ts'
import { issuerTrust } from './issuerTrust.ts'

/** Keycloak inside has a certificate of one's own, the issuer in front of it one that Node trusts. */
describe('an issuer with a certificate that Node trusts, beside issuerCertificateAuthority', () => {
  const trusted = getCACertificates('default')
  let folder: string
  let path: string
  let ofKeycloak: string
  let server: Server
  let issuer: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-issuer-'))
    const authority = await Authority.open(folder, 'ca')
    ofKeycloak = (await Authority.open(folder, 'another')).certPem
    path = join(folder, 'another.pem')
    await writeFile(path, ofKeycloak)
    const { certPem, keyPem } = await authority.issue({ commonName: 's', purpose: 'server', names: ['127.0.0.1'] })
    server = createServer({ cert: certPem, key: keyPem }, ({ method }, response) =>
      response.end(JSON.stringify(method === 'POST' ? { access_token: 'token' } : { keys: [] })),
    )
    await once(server.listen(0, '127.0.0.1'), 'listening')
    issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    setDefaultCACertificates([...trusted, authority.certPem])
  })
  after(async () => {
    setDefaultCACertificates(trusted)
    server.close().closeAllConnections()
    await rm(folder, { recursive: true })
  })

  it('gives its keys, so that tokens are accepted', async () => {
    const { fetchKeys, close } = keyFetcher(`${issuer}/certs`, ofKeycloak)
    expect(await fetchKeys().finally(close)).to.deep.equal({ keys: [] })
  })

  it('verifies secrets of service accounts', async () => {
    const { check, close } = await issuerSecretCheck({ issuer, issuerCertificateAuthority: path })
    const id = '11111111-1111-4111-8111-111111111111'
    expect(await check(id, 'right').finally(close)).to.deep.equal({ accessToken: 'token' })
  })

  it('is trusted with the same options by the check and the sign-in in a browser', async () => {
    const { ca = [] } = await issuerTrust({ issuerCertificateAuthority: path })
    expect(ca).to.include.members([ofKeycloak, ...getCACertificates('default')])
    expect(await issuerTrust({})).to.deep.equal({})
  })
})
