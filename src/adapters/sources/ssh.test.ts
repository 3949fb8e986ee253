import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeKey, SshServer } from '../../../test/cluster/sshServer.ts'
import { reasonOf, sourceContract } from '../../../test/suites/sourceContract.ts'
import { createAddressResolver } from '../outgoing/addresses.ts'
import { createSources } from './client.ts'
import type { Connection, SourcePort } from './port.ts'
import { readAdvertisementOverSsh } from './ssh.ts'

const WITHOUT_HTTPS = () => Promise.reject(new Error('Nothing is asked over https.'))

describe('Git over SSH', () => {
  let server: SshServer
  let port: SourcePort
  let file: string
  const portFor = (allowedHosts: string[]) =>
    createSources(WITHOUT_HTTPS, () => Date.now(), createAddressResolver(allowedHosts))
  const connectionWith = (privateKey: string, given: Partial<Connection> = {}): Connection => {
    return { provider: 'Git', baseUrl: server.url(), credentials: { 'private-key': privateKey }, ...given }
  }
  const sentenceOf = (connection: Connection) =>
    port.check(connection).then(
      () => 'no failure',
      (error: Error) => error.message,
    )

  before(async function () {
    server = await SshServer.startOrSkip(this)
    file = makeKey(server.folder, 'deploy-key')
    await server.authorize(file)
    port = portFor([`127.0.0.1:${server.port}`])
  })
  after(() => server?.stop())

  sourceContract('an sshd', {
    hasWebhooks: false,
    hasTokens: false,
    count: 1,
    async open() {
      const connection = connectionWith(await readFile(file, 'utf8'))
      const nobody = { ...connection, baseUrl: server.url('nothing.git') }
      return { port, connection, nobody, repositoryId: 'repository' }
    },
  })

  it('returns the branch of HEAD if the URL names no user', async () => {
    const [found] = await port.repositories(
      connectionWith(await readFile(file, 'utf8'), { baseUrl: server.url('shop.git', '') }),
    )
    expect([found?.defaultBranch, found?.name]).to.deep.equal(['trunk', 'shop'])
  })

  const forms: [string, readonly string[]][] = [
    ['Ed25519', ['-t', 'ed25519']],
    ['RSA', ['-t', 'rsa', '-b', '2048']],
    ['RSA in PEM', ['-t', 'rsa', '-b', '2048', '-m', 'PEM']],
    ['ECDSA', ['-t', 'ecdsa']],
    ['ECDSA in PEM', ['-t', 'ecdsa', '-b', '384', '-m', 'PEM']],
    ['RSA in PKCS #8', ['-t', 'rsa', '-b', '2048', '-m', 'PKCS8']],
    ['ECDSA in PKCS #8', ['-t', 'ecdsa', '-m', 'PKCS8']],
  ]
  for (const [title, keygenArgs] of forms) {
    it(`signs in with a ${title} key, with LF, CRLF or no final line end`, async () => {
      const other = makeKey(server.folder, title.replaceAll(/\W/g, ''), keygenArgs)
      await server.authorize(file, other)
      const text = await readFile(other, 'utf8')
      for (const given of [text, text.trimEnd(), text.replaceAll('\n', '\r\n')])
        expect((await port.check(connectionWith(given))).hostKey).to.match(/^(ssh|ecdsa)-\S+ AAAA/)
    })
  }

  const refused: [string, () => string | Promise<string>, RegExp][] = [
    ['a key that the host does not accept', () => readFile(makeKey(server.folder, 'stranger'), 'utf8'), /deploy key/],
    [
      'a key with a passphrase',
      () => readFile(makeKey(server.folder, 'locked', ['-t', 'rsa', '-b', '2048'], 'secret'), 'utf8'),
      /passphrase/,
    ],
    [
      'a PEM key with a passphrase',
      () => readFile(makeKey(server.folder, 'locked-pem', ['-t', 'rsa', '-b', '2048', '-m', 'PEM'], 'secret'), 'utf8'),
      /passphrase/,
    ],
    [
      'a PKCS #8 key with a passphrase',
      () => readFile(makeKey(server.folder, 'locked-8', ['-t', 'rsa', '-b', '2048', '-m', 'PKCS8'], 'secret'), 'utf8'),
      /passphrase/,
    ],
    ['a public key', () => readFile(`${file}.pub`, 'utf8'), /from BEGIN to END/],
    ['text that is not a key', () => 'a key', /from BEGIN to END/],
    [
      'an Ed25519 key that OpenSSH in builds cannot read',
      () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      /as ssh-keygen writes it/,
    ],
  ]
  for (const [title, key, sentence] of refused) {
    it(`reports ${title}`, async () => {
      const connection = connectionWith(await key())
      expect(await reasonOf(port.check(connection))).to.equal('CredentialRejected')
      expect(await sentenceOf(connection)).to.match(sentence)
    })
  }

  it('trusts the host key seen first and rejects any other, unless known-hosts lists it', async () => {
    const privateKey = await readFile(file, 'utf8')
    const { hostKey } = await port.check(connectionWith(privateKey))
    expect((await port.check(connectionWith(privateKey, { hostKey }))).hostKey).to.equal(hostKey)
    await server.halt()
    await server.renewHostKeys()
    await server.run()
    const pinned = connectionWith(privateKey, { hostKey })
    expect(await reasonOf(port.check(pinned))).to.equal('HostKeyRefused')
    expect(await sentenceOf(pinned)).to.match(/another host key.*known-hosts/)
    for (const line of (await server.knownHosts()).split('\n').filter(Boolean)) {
      const credentials = { 'private-key': privateKey, 'known-hosts': line }
      const { hostKey: shown } = await port.check({ ...pinned, credentials })
      expect(line).to.contain(shown)
    }
    const credentials = { 'private-key': privateKey, 'known-hosts': 'elsewhere.example.com ssh-ed25519 AAAA' }
    expect(await reasonOf(port.check({ ...pinned, credentials }))).to.equal('HostKeyRefused')
  })

  it('connects to a private address only if it is allowed, by address or by name', async () => {
    const privateKey = await readFile(file, 'utf8')
    const unlisted = portFor([])
    const seen = server.log
    expect(await reasonOf(unlisted.check(connectionWith(privateKey)))).to.equal('NotAllowed')
    const rebound = createSources(
      WITHOUT_HTTPS,
      () => Date.now(),
      createAddressResolver([], async () => [{ address: '127.0.0.1' }]),
    )
    const baseUrl = `ssh://git@git.example.com:${server.port}/shop.git`
    expect(await reasonOf(rebound.check(connectionWith(privateKey, { baseUrl })))).to.equal('NotAllowed')
    expect(server.log).to.equal(seen)
  })

  it('runs no command from a URL but git-upload-pack', async () => {
    const mark = join(server.folder, 'mark')
    await writeFile(mark, 'there')
    const baseUrl = `${server.url()}';rm%20${mark};'`
    expect(await reasonOf(port.check(connectionWith(await readFile(file, 'utf8'), { baseUrl })))).to.equal('NotFound')
    expect(await readFile(mark, 'utf8')).to.equal('there')
  })

  it('reports Unreachable if no sshd listens', async () => {
    const privateKey = await readFile(file, 'utf8')
    await server.halt()
    expect(await reasonOf(port.check(connectionWith(privateKey)))).to.equal('Unreachable')
    await server.run()
  })
})

describe('readAdvertisementOverSsh', () => {
  it('does not connect if the request is aborted while the name is resolved', async () => {
    const connected: Socket[] = []
    const host = createServer((socket) => connected.push(socket))
    await new Promise<void>((listening) => host.listen(0, '127.0.0.1', listening))
    const { port } = host.address() as AddressInfo
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const credentials = { 'private-key': key.export({ type: 'pkcs8', format: 'pem' }) as string }
    const aborting = new AbortController()
    const resolve = async () => {
      aborting.abort()
      return ['127.0.0.1']
    }
    const connection: Connection = { provider: 'Git', baseUrl: `ssh://git@127.0.0.1:${port}/shop.git`, credentials }
    expect(await reasonOf(readAdvertisementOverSsh(resolve, connection, aborting.signal))).to.equal('Unreachable')
    expect(connected).to.have.length(0)
    host.close()
  })
})
