import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { commandLine } from '../../../test/make/commandLine.ts'
import { run } from '../run.ts'

const ACME = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const FIRST = 'https://one.example.com'
const SECOND = 'https://two.example.com'
const SILENT = 'http://127.0.0.1:2'
const ISSUER = ['--issuer', 'https://id.example.com/realms/x']

describe('freehold setup, use and kubeconfig', () => {
  let home: string
  let said: string
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'freehold-setup-'))
  })
  afterEach(() => rm(home, { recursive: true }))

  async function freehold(...words: string[]) {
    said = ''
    const say = (text: string) => {
      said += text
    }
    return run(words, commandLine(home, { environment: { PLATFORM_TOKEN: 'mine' }, terminal: { out: say, err: say } }))
  }
  const succeeds = async (...words: string[]) => expect(await freehold(...words), said).to.equal(0)
  const settings = async () => JSON.parse(await readFile(join(home, '.config/freehold/config.json'), 'utf8'))

  it('keep the defaults and the API server of each platform apart', async () => {
    const place = ['--boundary', ACME, '--group', 'shop', '--kubernetes-url', 'https://k.example.com']
    await succeeds('setup', '--facade-url', FIRST, ...ISSUER, ...place)
    await succeeds('setup', '--facade-url', SECOND)
    expect(said).to.contain(`Kubeconfigs written for ${FIRST} get no token`)
    expect(await settings()).to.not.have.any.keys('boundary', 'group', 'kubernetes')
    expect(await freehold('kubeconfig')).to.equal(5)
    await succeeds('setup', '--facade-url', `${FIRST}/`)
    expect(await settings()).to.include({ facadeUrl: FIRST, boundary: ACME, group: 'shop' })
    expect((await settings()).others.map(({ facadeUrl }: { facadeUrl: string }) => facadeUrl)).to.deep.equal([SECOND])
  })

  describe("with the issuer in the platform's metadata", () => {
    let address: string
    let server: Server
    let metadata: object | undefined
    beforeEach(async () => {
      server = createServer((request, response) => {
        const isThere = request.url === '/.well-known/oauth-protected-resource' && metadata !== undefined
        response.writeHead(isThere ? 200 : 404, { 'content-type': 'application/json' })
        response.end(JSON.stringify(isThere ? metadata : { error: 'There is no such route.', code: 'NOT_FOUND' }))
      })
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      metadata = { resource: address, authorization_servers: ['https://mine.example.com'] }
    })
    afterEach(() => void server.close())

    it('store it, and do not read it again for a known platform', async () => {
      await succeeds('setup', '--facade-url', `${address}/`)
      expect((await settings()).issuer).to.equal('https://mine.example.com')
      await succeeds('setup', '--facade-url', FIRST, ...ISSUER)
      metadata = { resource: address, authorization_servers: ['https://moved.example.com'] }
      await succeeds('setup', '--facade-url', address)
      expect((await settings()).issuer, 'what is known of it stays').to.equal('https://mine.example.com')
    })

    it('reject metadata of another platform and an issuer that is not https', async () => {
      metadata = { resource: FIRST, authorization_servers: ['https://mine.example.com'] }
      expect(await freehold('setup', '--facade-url', address)).to.equal(2)
      expect(said).to.contain(`says that it is at ${FIRST}`)
      metadata = { resource: address, authorization_servers: ['http://mine.example.com'] }
      expect(await freehold('setup', '--facade-url', address)).to.equal(2)
      expect(said).to.contain('must be https')
    })

    it('use --issuer or that of the previous platform if there are no metadata', async () => {
      metadata = undefined
      expect(await freehold('setup', '--facade-url', address)).to.equal(2)
      expect(said).to.contain('--issuer is missing').and.contain('There is no such route.')
      await succeeds('setup', '--facade-url', FIRST, ...ISSUER)
      await succeeds('setup', '--facade-url', address)
      expect((await settings()).issuer).to.equal(ISSUER[1])
    })
  })

  it('are not stored if the platform does not answer and no issuer is known', async () => {
    expect(await freehold('setup', '--facade-url', SILENT)).to.equal(4)
    expect(said).to.contain(`No answer from ${SILENT}`).and.to.contain('Nothing listens there')
    expect(await freehold('whoami')).to.equal(5)
  })

  it('say that a platform did not answer, and whose issuer was stored for it', async () => {
    await succeeds('setup', '--facade-url', FIRST, ...ISSUER)
    await succeeds('setup', '--facade-url', SILENT)
    expect(said).to.contain(`No answer from ${SILENT}`).and.to.contain(`the issuer is that of ${FIRST}`)
  })

  for (const option of ['--certificate-authority', '--kubernetes-authority']) {
    it(`are refused if the file of ${option} is missing or holds no certificate`, async () => {
      const words = ['setup', '--facade-url', FIRST, ...ISSUER, '--kubernetes-url', 'https://k.example.com', option]
      expect(await freehold(...words, join(home, 'none'))).to.equal(5)
      expect(said).to.contain(`There is no ${join(home, 'none')}`)
      await writeFile(join(home, 'words'), 'no certificate')
      expect(await freehold(...words, join(home, 'words'))).to.equal(5)
      expect(said).to.contain(`${option} must name`).and.to.contain('PEM')
    })
  }

  for (const [words, status] of [
    [['setup'], 2],
    [['whoami'], 5],
  ] as const) {
    it(`suggest \`--dev\` if nothing is set up: ${words}`, async () => {
      expect(await freehold(...words)).to.equal(status)
      expect(said).to.contain('--dev').and.contain('npm run up')
    })
  }

  it('issue no token to kubectl for the previous platform', async () => {
    await succeeds('setup', '--facade-url', FIRST, ...ISSUER)
    const plugin = ['token', '--exec-credential', '--platform', FIRST]
    await succeeds(...plugin)
    await succeeds('setup', '--facade-url', SECOND)
    expect(await freehold(...plugin)).to.equal(5)
    expect(said).to.contain(`freehold setup --facade-url ${FIRST}`).and.to.not.contain('mine')
  })

  it('say that the kubeconfig has no namespace without a boundary', async () => {
    await succeeds('setup', '--facade-url', FIRST, ...ISSUER, '--kubernetes-url', 'https://k.example.com')
    await succeeds('kubeconfig', '--file', join(home, 'config'))
    expect(said).to.contain('It names no namespace')
    await succeeds('kubeconfig', '--file', join(home, 'config'), '--boundary', ACME, '--group', 'shop')
    expect(said).to.not.contain('no namespace')
  })

  it('add a certificate authority to a known API server only', async () => {
    const file = join(home, 'ca.crt')
    const pem = '-----BEGIN CERTIFICATE-----'
    await writeFile(file, pem)
    await succeeds('setup', '--facade-url', FIRST, ...ISSUER, '--kubernetes-url', 'https://k.example.com')
    await succeeds('setup', '--kubernetes-authority', file)
    const certificateAuthorityData = Buffer.from(pem).toString('base64')
    expect((await settings()).kubernetes).to.deep.equal({ server: 'https://k.example.com', certificateAuthorityData })
    expect(await freehold('setup', '--facade-url', SECOND, '--kubernetes-authority', file)).to.equal(2)
    expect(said).to.contain('--kubernetes-authority needs --kubernetes-url')
  })

  it('overwrite only a kubeconfig of their own', async () => {
    await succeeds('setup', '--facade-url', FIRST, ...ISSUER, '--kubernetes-url', 'https://k.example.com')
    const file = join(home, 'config')
    await succeeds('kubeconfig', '--file', file)
    await succeeds('kubeconfig', '--file', file)
    await writeFile(file, '{')
    expect(await freehold('kubeconfig', '--file', file)).to.equal(5)
  })

  it('check the platform of `setup --dev` with `check --dev`', async () => {
    const server = createServer((request, response) => {
      const token = { access_token: 'x.e30.x', expires_in: 300, token_type: 'Bearer' }
      const answer = request.method === 'POST' ? token : { issuer: `http://${request.headers.host}/realms/x` }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const file = join(home, 'dev.json')
    const credentials = { clientId: 'id', clientSecret: 'secret' }
    const tokenUrl = `${address}/realms/x/protocol/openid-connect/token`
    await writeFile(file, JSON.stringify({ facadeUrl: FIRST, tokenUrl, ...credentials }))
    await succeeds('setup', '--dev', file)
    server.close()
    await rm(file)
    await freehold('check', '--dev')
    expect(said).to.contain(`There is no ${file}`)
    await succeeds('setup', '--facade-url', SECOND)
    await freehold('check', '--dev')
    expect(said).to.contain('There is no').and.not.contain(file)
  })

  describe('with a boundary and a group', () => {
    let server: Server
    const boundaries = [{ id: ACME, displayName: 'Acme' }]
    const answers: Record<string, [number, object]> = {
      '/boundaries?pageSize=500': [200, { items: boundaries }],
      [`/boundaries/${ACME}/resourcegroups?pageSize=500`]: [200, { items: [{ name: 'search' }] }],
      [`/boundaries/${ACME}/resourcegroups/hidden`]: [403, { error: 'No.', code: 'FORBIDDEN' }],
    }
    beforeEach(async () => {
      server = createServer((request, response) => {
        const [status, body] = answers[request.url ?? ''] ?? [404, { error: 'Not found.', code: 'NOT_FOUND' }]
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      })
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      await succeeds('setup', '--facade-url', url, ...ISSUER)
    })
    afterEach(() => server.close())

    const cases: [sentence: string, words: string[], code: number, told: RegExp][] = [
      ['store them if they exist', ['-b', ACME, '-g', 'search'], 0, /resource group search/],
      ['store them if the caller may not read them', ['-b', ACME, '-g', 'hidden'], 0, /resource group hidden/],
      ['suggest an id for a mistyped one', ['-b', `${ACME.slice(0, -1)}2`], 2, new RegExp(`did you mean "${ACME}"`)],
      ['name the id for a display name', ['-b', 'acme'], 2, new RegExp(`did you mean ${ACME} \\(Acme\\)`)],
      ['list the boundaries for an unknown one', ['-b', 'nobody'], 2, new RegExp(`there are ${ACME} \\(Acme\\)`)],
      ['suggest a group for a mistyped one', ['-b', ACME, '-g', 'serach'], 2, /did you mean "search"/],
      ['list the groups for an unknown one', ['-b', ACME, '-g', 'x'], 2, /; there are search\./],
      ['reject a group without a boundary', ['-g', 'search'], 2, /--group needs --boundary/],
      ['clear them for an empty boundary', ['-b', ''], 0, /Boundary none/],
    ]
    for (const [sentence, words, code, told] of cases) {
      it(sentence, async () => {
        expect(await freehold('use', ...words), said).to.equal(code)
        expect(said).to.match(told)
        if (code !== 0) expect(await settings()).to.not.have.any.keys('boundary', 'group')
      })
    }
  })
})
