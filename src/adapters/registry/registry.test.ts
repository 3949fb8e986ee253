import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader, importX509, jwtVerify } from 'jose'
import { imageRegistryContract } from '../../../test/suites/imageRegistryContract.ts'
import { createAuthority, issueCertificate } from '../../composition/certificates.ts'
import { createRegistryClient } from './client.ts'
import { registryDisk } from './disk.ts'
import { FakeImageRegistry } from './fake.ts'
import { createRegistryKeys, type PemKeyPair } from './keys.ts'
import { type Credential, RegistryError } from './port.ts'

describe('FakeImageRegistry', () => {
  imageRegistryContract(() => {
    const registry = new FakeImageRegistry()
    return { registry, push: (repository, tag, text) => registry.push(repository, tag, { text }) }
  })
})

/** A registry accepts each of these from anyone who may push. */
const ODD = [
  { subject: null },
  { subject: 'x' },
  { layers: null },
  { mediaType: null },
  { config: null },
  { layers: [{ digest: `sha256:${'c'.repeat(64)}`, size: 1, platform: null }] },
  { manifests: null },
]

describe('createRegistryClient, given malformed documents', () => {
  let server: Server
  let text: string
  let registry: ReturnType<typeof createRegistryClient>
  before(async () => {
    server = createServer((_request, response) => response.end(text)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    registry = createRegistryClient({ url: `http://127.0.0.1:${port}`, tokenFor: async () => 't', disk: undefined })
  })
  after(() => server.close())

  for (const document of ODD) {
    it(`reads a manifest with ${JSON.stringify(document).slice(0, 30)}`, async () => {
      text = JSON.stringify({ schemaVersion: 2, ...document })
      expect(await registry.manifest('a/b', 'latest')).to.have.property('platforms')
    })
  }

  for (const size of [-1, 2 ** 53 + 2, 0.5, 'many']) {
    it(`reads a manifest with a size of ${size}, and does not count it`, async () => {
      text = JSON.stringify({ layers: [{ digest: 'sha256:1', size }] })
      expect((await registry.manifest('a/b', 'latest'))?.sizeBytes).to.equal(text.length)
    })
  }

  for (const odd of [{ os: null }, { os: 7, architecture: [] }, { config: 'none' }, { config: { Labels: { a: 1 } } }]) {
    it(`reads the valid fields of a configuration with ${JSON.stringify(odd)}`, async () => {
      text = JSON.stringify({ created: '2026-01-01T00:00:00Z', ...odd })
      const { createdAt, labels, platform } = await registry.details('a/b', 'sha256:1')
      expect([createdAt, labels, platform]).to.deep.equal(['2026-01-01T00:00:00Z', {}, undefined])
    })
  }

  it('rejects a configuration with too many values before the schema checks each of them', async () => {
    const Labels = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`l${at}`, 'x']))
    text = JSON.stringify({ config: { Labels } })
    const error = await registry.details('a/b', 'sha256:1').catch((caught: unknown) => caught)
    expect((error as RegistryError).reason).to.equal('Unreadable')
  })

  it('reads the zero values of a configuration written by Go as missing', async () => {
    text = JSON.stringify({ architecture: '', created: '0001-01-01T00:00:00Z', os: '', config: {} })
    const { createdAt, platform } = await registry.details('a/b', 'sha256:1')
    expect([createdAt, platform]).to.deep.equal([undefined, undefined])
  })
})

describe('createRegistryClient with a large registry', () => {
  it('reads only the pages of the catalogue that hold the folder', async () => {
    // In the order of the registry, in which `/` comes first.
    const names = ['a', 'b', 'c'].flatMap((start) => [
      ...Array.from({ length: 1_500 }, (_, at) => `${start}/shop/jobs/job-${String(at).padStart(4, '0')}`),
      `${start}/shop-2/jobs/job`,
    ])
    const asked: string[] = []
    const server = createServer(({ url = '' }, response) => {
      asked.push(url)
      const { searchParams } = new URL(url, 'http://registry.test')
      const last = searchParams.get('last') ?? ''
      const before = (name: string) => name.replaceAll('/', '\0') <= last.replaceAll('/', '\0')
      const repositories = names.filter((name) => !before(name)).slice(0, Number(searchParams.get('n')))
      response.end(JSON.stringify({ repositories }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const registry = createRegistryClient({ url: `http://127.0.0.1:${port}`, tokenFor: async () => 'token' })
    try {
      expect(await registry.repositories('b/shop')).to.have.length(1_500)
      expect(asked).to.have.length(2)
      expect(await registry.repositories('b/shop-2')).to.deep.equal(['b/shop-2/jobs/job'])
      expect(await registry.repositories()).to.have.length(names.length)
    } finally {
      server.close()
    }
  })
})

describe('createRegistryKeys', () => {
  const NOW = Date.parse('2026-05-01T12:00:00Z')
  let authority: PemKeyPair
  let made = 0
  before(async () => {
    authority = await createAuthority('registry', new Date(NOW))
  })
  const keysOf = (pair: PemKeyPair) =>
    createRegistryKeys({
      authority: pair,
      certify: async (by, now) => {
        made += 1
        return issueCertificate(by, { commonName: 'tokens', purpose: 'client', days: 2 }, now)
      },
      issuer: 'freehold',
      service: 'registry.test',
    })
  const credential: Credential = {
    kind: 'Build',
    principalId: 'someone',
    principalType: 'User',
    limit: { repositories: 'r', actions: ['pull'] },
    expiresAt: NOW + 60_000,
  }

  it('signs tokens that carry a certificate of the authority', async () => {
    const access = [{ type: 'repository', name: 'a/b', actions: ['pull'] }]
    const token = await keysOf(authority).token('someone', access, { now: NOW, seconds: 300 })
    const [leaf = ''] = decodeProtectedHeader(token).x5c ?? []
    const certificate = new X509Certificate(Buffer.from(leaf, 'base64'))
    expect(certificate.verify(new X509Certificate(authority.certPem).publicKey)).to.equal(true)
    const key = await importX509(certificate.toString(), 'ES256')
    const rules = { issuer: 'freehold', audience: 'registry.test', currentDate: new Date(NOW) }
    const { payload } = await jwtVerify(token, key, rules)
    expect(payload).to.deep.include({ sub: 'someone', access, exp: NOW / 1000 + 300 })
  })

  it('replaces its key twice a day', async () => {
    const keys = keysOf(authority)
    const at = async (now: number) => {
      const token = await keys.token('someone', [], { now, seconds: 300 })
      return decodeProtectedHeader(token).x5c?.[0]
    }
    made = 0
    const first = await at(NOW)
    expect(await at(NOW + 11 * 3_600_000)).to.equal(first)
    expect(await at(NOW + 12 * 3_600_000)).not.to.equal(first)
    expect(made).to.equal(2)
  })

  it('tries again after it could not get a certificate', async () => {
    let failures = 1
    const keys = createRegistryKeys({
      authority,
      certify: async (by, now) => {
        if (failures-- > 0) throw new Error('No certificate.')
        return issueCertificate(by, { commonName: 'tokens', purpose: 'client', days: 2 }, now)
      },
      ...{ issuer: 'freehold', service: 'registry.test' },
    })
    const token = () => keys.token('someone', [], { now: NOW, seconds: 300 })
    expect(await token().catch((error) => error.message)).to.equal('No certificate.')
    expect(decodeJwt(await token()).sub).to.equal('someone')
  })

  it('reads its credentials in any process of the same authority until they expire', async () => {
    const text = await keysOf(authority).issue(credential)
    expect(await keysOf(authority).read(text, NOW)).to.deep.equal(credential)
    expect(await keysOf(authority).read(text, NOW + 61_000)).to.equal(undefined)
  })

  it("reads neither another authority's credentials nor a registry token", async () => {
    const other = await createAuthority('another', new Date(NOW))
    expect(await keysOf(authority).read(await keysOf(other).issue(credential), NOW)).to.equal(undefined)
    const token = await keysOf(authority).token('someone', [], { now: NOW, seconds: 300 })
    expect(await keysOf(authority).read(token, NOW)).to.equal(undefined)
    expect(decodeJwt(token).sub).to.equal('someone')
    expect(await keysOf(authority).read('', NOW)).to.equal(undefined)
  })
})

describe('registryDisk', () => {
  const [NAMING, NAMED, OTHER] = ['a', 'b', 'd'].map((digit) => digit.repeat(64)) as [string, string, string]
  const later = () => ({ busy: new Set<string>(), before: Date.now() + 60_000 })
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'freehold-disk-'))
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  const base = () => join(root, 'docker/registry/v2')
  async function write(path: string, text: string): Promise<void> {
    await mkdir(join(base(), path), { recursive: true })
    await writeFile(join(base(), path, path.startsWith('blobs') ? 'data' : 'link'), text)
  }
  /** A manifest with this content, the layer that it may reference, and an unreferenced layer of another tenant. */
  async function holding(manifest: string): Promise<ReturnType<typeof registryDisk>> {
    await write(`repositories/x/y/_manifests/revisions/sha256/${NAMING}`, `sha256:${NAMING}`)
    await write(`repositories/x/y/_layers/sha256/${NAMED}`, `sha256:${NAMED}`)
    await write(`repositories/v/w/_layers/sha256/${OTHER}`, `sha256:${OTHER}`)
    await write(`blobs/sha256/aa/${NAMING}`, manifest)
    await write(`blobs/sha256/bb/${NAMED}`, 'data')
    await write(`blobs/sha256/dd/${OTHER}`, 'nobody needs it')
    return registryDisk(root)
  }
  const blobsLeft = async () => {
    const files = await readdir(join(base(), 'blobs/sha256'), { recursive: true })
    return files.filter((path) => path.endsWith('data')).map((path) => path.slice(3, 67))
  }

  it('measures layers without a manifest and uploads in progress, but nothing of other folders', async () => {
    const disk = await holding('{}')
    expect([await disk.bytesOf('x'), await disk.bytesOf('v')]).to.deep.equal([6, 15])
    await write(`repositories/x/other/_layers/sha256/${NAMED}`, `sha256:${NAMED}`)
    expect(await disk.bytesOf('x'), 'a layer of two repositories').to.equal(6)
    const upload = join(base(), 'repositories/x/y/_uploads/one')
    await mkdir(upload, { recursive: true })
    await writeFile(join(upload, 'data'), 'x'.repeat(100))
    expect(await disk.bytesOf('x')).to.equal(106)
  })

  it('sweeps nothing while a manifest cannot be read', async () => {
    const disk = await holding('no JSON')
    const failure = await disk.sweep(later()).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(RegistryError)
    expect(await disk.digests('x/y')).to.deep.equal([`sha256:${NAMING}`])
    await rm(join(base(), `repositories/x/y/_manifests/revisions/sha256/${NAMING}/link`))
    expect((await disk.sweep(later()))?.freedBytes).to.equal(26)
  })

  it('sweeps nothing while a link cannot be read', async () => {
    const disk = await holding('{}')
    const link = join(base(), `repositories/x/y/_manifests/revisions/sha256/${NAMING}/link`)
    await rm(link)
    // An error other than "not found", as a failing disk or a lost mount gives.
    await symlink(link, link)
    const failure = await disk.sweep(later()).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(RegistryError)
    expect(await blobsLeft()).to.have.members([NAMING, NAMED, OTHER])
  })

  it('sweeps nothing if there are blobs but no repositories, as with a folder that is not mounted', async () => {
    const disk = await holding('{}')
    await rm(join(base(), 'repositories'), { recursive: true })
    const failure = await disk.sweep(later()).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(RegistryError)
    expect(await blobsLeft()).to.have.members([NAMING, NAMED, OTHER])
  })

  const layers = [{ digest: `sha256:${NAMED}`, size: 4 }]
  for (const document of [
    ...ODD,
    { LAYERS: layers, config: undefined },
    { layers: 'none' },
    { config: { digest: 1 } },
  ]) {
    const manifest = { config: layers[0], ...document, beside: layers }
    it(`sweeps unreferenced blobs only, beside a manifest with ${JSON.stringify(document).slice(0, 30)}`, async () => {
      const disk = await holding(JSON.stringify(manifest).replace('sha256:', '\\u0073ha256:'))
      expect((await disk.sweep(later()))?.freedBytes).to.equal('nobody needs it'.length)
      expect(await blobsLeft()).to.have.members([NAMING, NAMED])
    })
  }
})
