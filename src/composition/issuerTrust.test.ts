import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { Authority } from '../../scripts/controlplane/pki.ts'
import { keyFetcher } from '../api/callers/tokenKeys.ts'
import { issuerSecretCheck } from './areas/clientSignIn.ts'
import { issuerAuthorities } from './issuerTrust.ts'

/** The authority of the issuer is trusted by Node, but is not the one of the setting. */
describe('an issuer with a certificate of another authority than issuerCertificateAuthority', () => {
  const trusted = getCACertificates('default')
  let folder: string
  let paths: { right: string; wrong: string }
  let server: Server
  let issuer: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-issuer-'))
    const [authority, another] = await Promise.all([Authority.open(folder, 'ca'), Authority.open(folder, 'another')])
    paths = { right: join(folder, 'right.pem'), wrong: join(folder, 'wrong.pem') }
    await writeFile(paths.wrong, another.certPem)
    await writeFile(paths.right, `${another.certPem}\n${authority.certPem}`)
    const { certPem, keyPem } = await authority.issue({ commonName: 's', purpose: 'server', names: ['127.0.0.1'] })
    server = createServer({ cert: certPem, key: keyPem }, ({ method }, response) =>
      response
        .setHeader('connection', 'close')
        .end(JSON.stringify(method === 'POST' ? { access_token: 'token' } : { keys: [] })),
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

  const keys = async (issuerCertificateAuthority: string | undefined) => {
    const { fetchKeys, close } = keyFetcher(`${issuer}/certs`, issuerAuthorities({ issuerCertificateAuthority }))
    return fetchKeys().finally(close)
  }
  const signIn = async (issuerCertificateAuthority: string | undefined) => {
    const { check, close } = await issuerSecretCheck({ issuer, issuerCertificateAuthority })
    return check('11111111-1111-4111-8111-111111111111', 'right').finally(close)
  }
  const isRefused = (asked: Promise<unknown>) =>
    asked.then(
      () => false,
      () => true,
    )

  it('is not asked for keys, as the API server would not', async () => {
    expect(await isRefused(keys(paths.wrong))).to.equal(true)
    expect(await keys(paths.right)).to.deep.equal({ keys: [] })
    expect(await keys(undefined)).to.deep.equal({ keys: [] })
  })

  it('is asked as soon as the file names its authority, and no longer once it does not', async () => {
    const replaced = join(folder, 'replaced.pem')
    const becomes = async (file: string) => writeFile(replaced, await readFile(file, 'utf8'))
    await becomes(paths.wrong)
    const { fetchKeys, close } = keyFetcher(
      `${issuer}/certs`,
      issuerAuthorities({ issuerCertificateAuthority: replaced }),
    )
    const { check, close: forget } = await issuerSecretCheck({ issuer, issuerCertificateAuthority: replaced })
    const ask = async () => [await isRefused(fetchKeys()), await isRefused(check('a', 'right'))]
    expect(await ask()).to.deep.equal([true, true])
    await becomes(paths.right)
    expect(await ask()).to.deep.equal([false, false])
    await rm(replaced)
    expect(await ask(), 'while the file is being replaced').to.deep.equal([false, false])
    await becomes(paths.wrong)
    expect(await ask()).to.deep.equal([true, true])
    await Promise.all([close(), forget()])
  })

  it('is sent no secrets of service accounts', async () => {
    expect(await isRefused(signIn(paths.wrong))).to.equal(true)
    expect(await signIn(paths.right)).to.deep.equal({ accessToken: 'token' })
    expect(await signIn(undefined)).to.deep.equal({ accessToken: 'token' })
  })
})
