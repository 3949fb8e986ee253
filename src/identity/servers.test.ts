// @peculiar/x509 requires this polyfill to be loaded first.
import 'reflect-metadata'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { expect } from 'chai'
import { Agent, fetch } from 'undici'
import { ManualClock } from '../../test/make/clock.ts'
import { expectBounded } from '../../test/worlds/heldConnections.ts'
import { silentLog } from '../core/log.ts'
import { type IdentityServers, startIdentityServers } from './servers.ts'

describe('startIdentityServers', () => {
  let certificate: { cert: string; key: string }
  let servers: IdentityServers | undefined
  const agents: Agent[] = []
  const clock = new ManualClock()

  beforeEach(async () => {
    certificate = await selfSigned('127.0.0.1')
  })
  afterEach(async () => {
    await servers?.stop()
    servers = undefined
    await Promise.all(agents.splice(0).map((agent) => agent.close()))
  })

  const start = (http: { port: number } = { port: 0 }, maxConnections = 100) =>
    startIdentityServers({
      maxConnections,
      handler: (_request, response) => response.end('served'),
      tls: { port: 0, readCertificate: async () => certificate },
      http,
      clock,
      log: silentLog,
    })

  it('serves the same handler over TLS and plain HTTP', async () => {
    servers = await start()
    const dispatcher = new Agent({ connect: { ca: certificate.cert } })
    agents.push(dispatcher)
    const overTls = await fetch(`https://127.0.0.1:${servers.tlsPort}/`, { dispatcher })
    const plain = await fetch(`http://127.0.0.1:${servers.httpPort}/`)
    expect([await overTls.text(), await plain.text()]).to.deep.equal(['served', 'served'])
  })

  it('uses a certificate within a minute of its renewal, also if its key came later', async () => {
    servers = await start()
    const { cert, key } = await selfSigned('127.0.0.1')
    certificate = { ...certificate, cert }
    await clock.advance(60_000)
    certificate = { cert, key }
    await clock.advance(60_000)
    const dispatcher = new Agent({ connect: { ca: certificate.cert } })
    agents.push(dispatcher)
    expect((await fetch(`https://127.0.0.1:${servers.tlsPort}/`, { dispatcher })).status).to.equal(200)
  })

  it('limits the connections of each server, and accepts another one when one has closed', async () => {
    servers = await start(undefined, 4)
    const { tlsPort, httpPort = 0 } = servers
    const dispatcher = new Agent({ connect: { ca: certificate.cert } })
    agents.push(dispatcher)
    await expectBounded(tlsPort, 2, () => fetch(`https://127.0.0.1:${tlsPort}/`, { dispatcher }))
    await expectBounded(httpPort, 2, () => fetch(`http://127.0.0.1:${httpPort}/`))
  })

  it('names an address that is in use', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const failure = await start({ port }).then(
      () => 'none',
      (error: Error) => error.message,
    )
    other.close()
    expect(failure).to.contain(`127.0.0.1:${port}`)
  })
})

/** A self-signed certificate for an address, as PEM. */
async function selfSigned(address: string): Promise<{ cert: string; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${address}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: address }])],
  })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { cert: certificate.toString('pem'), key: PemConverter.encode(pkcs8, 'PRIVATE KEY') }
}
