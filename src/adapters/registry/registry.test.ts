import { X509Certificate } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader, importX509, jwtVerify } from 'jose'
import { imageRegistryContract } from '../../../test/suites/imageRegistryContract.ts'
import { createAuthority, issueCertificate } from '../../composition/certificates.ts'
import { ManifestDocument } from './client.ts'
import { registryDisk } from './disk.ts'
import { FakeImageRegistry } from './fake.ts'
import { createRegistryKeys, type Pair } from './keys.ts'
import type { Credential } from './port.ts'

describe('a registry in memory', () => {
  imageRegistryContract(() => {
    const registry = new FakeImageRegistry()
    return { registry, push: (repository, tag, text) => registry.push(repository, tag, { text }) }
  })
})

describe('a manifest', () => {
  for (const size of [-1, 2 ** 53 + 2, 0.5, 'many']) {
    it(`with a size of ${size} is read, and counts nothing`, () => {
      const layers = [{ digest: 'sha256:1', size }]
      expect(ManifestDocument.parse({ layers }).layers?.map((one) => one.size)).to.deep.equal([0])
    })
  }
})

describe('keys of the registry', () => {
  const NOW = Date.parse('2026-05-01T12:00:00Z')
  let authority: Pair
  let made = 0
  before(async () => {
    authority = await createAuthority('registry', new Date(NOW))
  })
  const keysOf = (pair: Pair) =>
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

  it('sign tokens that carry a certificate of the authority', async () => {
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

  it('take another key twice a day, and no other in between', async () => {
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

  it('try again where no certificate could be made', async () => {
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

  it('read back what they issued, in any process of the same authority, until it expires', async () => {
    const text = await keysOf(authority).issue(credential)
    expect(await keysOf(authority).read(text, NOW)).to.deep.equal(credential)
    expect(await keysOf(authority).read(text, NOW + 61_000)).to.equal(undefined)
  })

  it('read nothing that another authority issued, and no token of the registry', async () => {
    const other = await createAuthority('another', new Date(NOW))
    expect(await keysOf(authority).read(await keysOf(other).issue(credential), NOW)).to.equal(undefined)
    const token = await keysOf(authority).token('someone', [], { now: NOW, seconds: 300 })
    expect(await keysOf(authority).read(token, NOW)).to.equal(undefined)
    expect(decodeJwt(token).sub).to.equal('someone')
    expect(await keysOf(authority).read('', NOW)).to.equal(undefined)
  })
})

describe('the disk of a registry', () => {
  it('is left as it is where a manifest cannot be read, since nobody knows what it needs', async () => {
    const root = await mkdtemp(join(tmpdir(), 'freehold-disk-'))
    try {
      const base = join(root, 'docker/registry/v2')
      const [broken, blob] = ['a'.repeat(64), 'b'.repeat(64)]
      const write = async (path: string, text: string) => {
        await mkdir(join(base, path), { recursive: true })
        await writeFile(join(base, path, path.startsWith('blobs') ? 'data' : 'link'), text)
      }
      await write(`repositories/x/y/_manifests/revisions/sha256/${broken}`, `sha256:${broken}`)
      await write(`blobs/sha256/aa/${broken}`, '{"layers":"none"}')
      await write(`blobs/sha256/bb/${blob}`, 'data')
      const disk = registryDisk(root)
      const failure = await disk.sweep({ busy: new Set(), before: Date.now() + 1000 }).catch((error: Error) => error)
      expect(failure).to.be.instanceOf(Error)
      expect(await disk.digests('x/y')).to.deep.equal([`sha256:${broken}`])
      await rm(join(base, `repositories/x/y/_manifests/revisions/sha256/${broken}/link`))
      expect((await disk.sweep({ busy: new Set(), before: Date.now() + 1000 }))?.freedBytes).to.equal(21)
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  })
})
