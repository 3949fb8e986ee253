import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { Authority } from '../../../scripts/controlplane/pki.ts'
import { createOutgoing, type OutgoingOptions } from './client.ts'
import { OutgoingError, type OutgoingPort } from './port.ts'

describe('createOutgoing', () => {
  let folder: string
  let authority: Authority
  let server: Server
  let host: string
  const seen: { url: string; authorization: string | undefined; method: string }[] = []
  const opened: { close(): Promise<void> }[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-outgoing-'))
    authority = await Authority.open(folder, 'ca')
    const names = ['127.0.0.1', 'localhost']
    const { certPem, keyPem } = await authority.issue({ commonName: 's', purpose: 'server', names })
    server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
      const { url = '', method = '' } = request
      seen.push({ url, method, authorization: request.headers.authorization })
      const port = (server.address() as AddressInfo).port
      if (url === '/slow') return
      const to = (status: number, location: string) => response.writeHead(status, { location }).end()
      const answers: Record<string, () => unknown> = {
        '/big': () => response.end('x'.repeat(3000)),
        '/spent': () => response.writeHead(403, { 'retry-after': '60', 'x-powered-by': 'y' }).end(),
        '/loop': () => to(302, '/loop'),
        '/away': () => to(307, `https://localhost:${port}/there`),
        '/inside': () => to(302, 'https://10.0.0.1/x'),
        '/plain': () => to(302, `http://127.0.0.1:${port}/`),
        '/missing': () => response.writeHead(404).end('a secret of theirs'),
      }
      const answer = answers[url]
      if (answer !== undefined) return void answer()
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  beforeEach(() => {
    seen.length = 0
  })
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close()
  })
  after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true, force: true })
  })

  function open(options: Partial<OutgoingOptions> = {}): OutgoingPort {
    const other = host.replace('127.0.0.1', 'localhost')
    const made = createOutgoing({
      allowedHosts: [host, other],
      certificateAuthority: () => authority.certPem,
      maxBytes: 2000,
      ...options,
    })
    opened.push(made)
    return made
  }
  const failure = async (promise: Promise<unknown>): Promise<OutgoingError> => {
    const error = await promise.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof OutgoingError)) throw new Error('it did not fail as it should', { cause: error })
    return error
  }

  it('connects to an allowed host and verifies its certificate', async () => {
    expect(await open().document(`https://${host}/`)).to.equal('{"ok":true}')
    const stranger = createOutgoing({ allowedHosts: [host] })
    opened.push(stranger)
    const { reason, message } = await failure(stranger.document(`https://${host}/`))
    expect(reason).to.equal('Unreachable')
    expect(message).to.equal(
      `${host} shows a certificate that is not valid for it, or not signed by an authority that the platform trusts.`,
    )
  })

  it("trusts Node's default authorities in addition to the configured one", async () => {
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, authority.certPem])
    try {
      const { certPem } = await Authority.open(folder, 'another')
      expect(await open({ certificateAuthority: () => certPem }).document(`https://${host}/`)).to.equal('{"ok":true}')
    } finally {
      setDefaultCACertificates(trusted)
    }
  })

  it('does not connect to loopback unless it is allowed, by address or by name', async () => {
    const outgoing = open({ allowedHosts: [] })
    expect((await failure(outgoing.document(`https://${host}/`))).reason).to.equal('NotAllowed')
    expect((await failure(outgoing.document('https://localhost/'))).reason).to.equal('NotAllowed')
    expect(seen).to.deep.equal([])
  })

  const answers: [string, string[]][] = [
    ['a private address', ['10.1.2.3']],
    ['the metadata address', ['169.254.169.254']],
    ['one private address among public ones', ['93.184.215.14', '127.0.0.1']],
    ['an IPv4-mapped IPv6 address', ['::ffff:127.0.0.1']],
    ['no address', []],
  ]
  for (const [title, addresses] of answers) {
    it(`does not connect to a public name that resolves to ${title} at the time of the call`, async () => {
      const lookup = (_name: string, _options: object, callback: (error: null, all: object[]) => void) =>
        callback(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        )
      const outgoing = open({ allowedHosts: [], lookup: lookup as unknown as NonNullable<OutgoingOptions['lookup']> })
      expect((await failure(outgoing.document('https://rebound.example.com/'))).reason).to.equal('NotAllowed')
    })
  }

  it('follows redirects, but not to a private address, to plain HTTP or in a loop', async () => {
    expect(await open().document(`https://${host}/away`)).to.equal('{"ok":true}')
    expect((await failure(open().document(`https://${host}/inside`))).reason).to.equal('NotAllowed')
    expect((await failure(open().document(`https://${host}/plain`))).reason).to.equal('NotAllowed')
    seen.length = 0
    expect((await failure(open().document(`https://${host}/loop`))).reason).to.equal('Unreachable')
    expect(seen).to.have.length(4)
  })

  it('sends credentials to no other host and repeats only GET requests', async () => {
    const headers = { authorization: 'Basic c2VjcmV0' }
    await open().fetch(`https://${host}/away`, { headers })
    expect(seen.map(({ authorization }) => authorization)).to.deep.equal([headers.authorization, undefined])
    seen.length = 0
    const answer = await open().fetch(`https://${host}/away`, { method: 'POST', body: 'code=1', headers })
    expect(answer.status).to.equal(307)
    expect(seen).to.have.length(1)
  })

  it('stops reading after the requested bytes, and passes on only the retry-after header', async () => {
    const answer = await open().fetch(`https://${host}/big`, { beginning: 10 })
    expect(await answer.text()).to.equal('x'.repeat(10))
    const { headers } = await open().fetch(`https://${host}/spent`)
    expect([headers.get('retry-after'), headers.get('x-powered-by')]).to.deep.equal(['60', null])
  })

  it('reports an answer that is too long, too late or 404 without quoting it', async () => {
    expect((await failure(open().document(`https://${host}/big`))).message).to.contain('2000 bytes')
    expect((await failure(open({ timeout: 50 }).document(`https://${host}/slow`))).reason).to.equal('Unreachable')
    const error = await failure(open().document(`https://${host}/missing`))
    expect(error.message).to.equal(`${host} answers with status 404.`)
  })
})
