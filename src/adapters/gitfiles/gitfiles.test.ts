import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import { serveGit } from '../../../test/worlds/providers/gitBackend.ts'
import { runUnsliced } from '../../core/slices.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { gitFiles } from './client.ts'
import { applyDelta } from './delta.ts'
import { FakeGitFiles } from './fake.ts'
import { type GitObject, PackTooLarge, readPack } from './pack.ts'
import { parsePktLines } from './pktLine.ts'
import { type GitFiles, GitFilesError } from './port.ts'
import { readFilesOfCommit } from './tree.ts'

const PASSWORD = 'a-password-of-the-tests'
const basic = (password: string) => `Basic ${Buffer.from(`git:${password}`).toString('base64')}`

type World = {
  files: GitFiles
  url: string
  authorization: string
  /** Commits these files in addition to the existing ones. @returns the hash */
  commit(texts: Readonly<Record<string, string | Buffer>>): Promise<string>
  close(): Promise<void>
}

type RealWorld = World & { fetch: OutgoingFetch; canFilter(value: boolean): Promise<void> }

async function real(): Promise<RealWorld> {
  const root = await mkdtemp(join(tmpdir(), 'freehold-git-'))
  const repository = join(root, 'shop.git')
  await mkdir(repository)
  const git = async (...args: string[]) =>
    (await promisify(execFile)('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: repository }))
      .stdout
  await git('init', '--quiet', '--initial-branch=main')
  await git('config', 'uploadpack.allowFilter', 'true')
  // Random content does not compress.
  await git('config', 'core.compression', '1')
  await symlink('/etc/hostname', join(repository, 'outside.yaml'))
  const served = await serveGit(root, { username: 'git', password: PASSWORD })
  return {
    files: gitFiles(served.fetch),
    fetch: served.fetch,
    canFilter: async (value) => void (await git('config', 'uploadpack.allowFilter', String(value))),
    url: `${served.url}/shop.git/.git`,
    authorization: basic(PASSWORD),
    async commit(texts) {
      for (const [path, text] of Object.entries(texts)) {
        await mkdir(dirname(join(repository, path)), { recursive: true })
        await writeFile(join(repository, path), text)
      }
      await git('add', '--all')
      await git('commit', '--quiet', '--message=more')
      await git('tag', '--force', '--annotate', '--message=one', 'v1')
      return (await git('rev-parse', 'HEAD')).trim()
    },
    async close() {
      await served.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

async function played(): Promise<World> {
  const files = new FakeGitFiles()
  const url = 'https://git.test/shop'
  let all: Record<string, string | Buffer> = {}
  let count = 0
  return {
    ...{ files, url, authorization: basic(PASSWORD) },
    async commit(texts) {
      all = { ...all, ...texts }
      count += 1
      const known = Object.fromEntries(
        Object.entries(all).flatMap(([path, text]) => (/\.(ya?ml|json)$/.test(path) ? [[path, String(text)]] : [])),
      )
      const revision = createHash('sha1').update(String(count)).digest('hex')
      for (const ref of ['main', 'v1', 'refs/heads/main']) files.commit(url, ref, revision, known)
      return revision
    },
    close: async () => {},
  }
}

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof GitFilesError ? error.reason : String(error)),
  )

for (const [name, make] of [
  ['gitFiles', real],
  ['FakeGitFiles', played],
] as const)
  describe(`${name}`, () => {
    let world: World
    let revision: string
    const place = (path = '/', ref = 'main') => ({ url: world.url, authorization: world.authorization, ref, path })
    before(async () => {
      world = await make()
      await world.commit({ 'README.md': 'read me', 'a.yaml': 'one' })
      revision = await world.commit({ 'a.yaml': 'two', 'deep/down/b.json': '{}', 'deep/c.yml': 'c', 'main.ts': '' })
    })
    after(() => world.close())

    it('returns the YAML and JSON files of a commit, sorted by path', async () => {
      const found = await world.files.read(place())
      expect(found.revision).to.equal(revision)
      expect(found.files).to.deep.equal([
        { path: 'a.yaml', text: 'two' },
        { path: 'deep/c.yml', text: 'c' },
        { path: 'deep/down/b.json', text: '{}' },
      ])
    })

    it('returns the files of a folder, by branch, tag or full ref', async () => {
      for (const ref of ['main', 'v1', 'refs/heads/main']) {
        const { files } = await world.files.read(place('/deep', ref))
        expect(files?.map(({ path }) => path)).to.deep.equal(['c.yml', 'down/b.json'])
      }
    })

    it('returns no files if the commit is already known', async () => {
      expect(await world.files.read(place(), revision)).to.deep.equal({ revision, files: undefined })
    })

    it('reports NotFound for a missing ref or folder', async () => {
      expect(await reasonOf(world.files.read(place('/', 'other')))).to.equal('NotFound')
      expect(await reasonOf(world.files.read(place('/other')))).to.equal('NotFound')
    })
  })

describe('gitFiles, connected to a Git server', () => {
  let world: RealWorld
  before(async () => {
    world = await real()
  })
  after(() => world.close())
  const read = (more: object = {}) =>
    world.files.read({ url: world.url, authorization: world.authorization, ref: 'main', path: '/', ...more })

  it('returns no text for files of more than 256 KiB, whether or not the host filters them', async () => {
    const texts = { 'large.yaml': 'x'.repeat(262_145), 'fits.yaml': 'x'.repeat(262_144) }
    await world.commit(texts)
    const { files } = await read()
    expect(files?.map(({ path, text }) => `${path} ${text?.length}`)).to.deep.equal([
      'fits.yaml 262144',
      'large.yaml undefined',
    ])
  })

  describe('in a repository with 10 MB of other files', () => {
    let large: RealWorld
    before(async () => {
      large = await real()
      const others = Array.from({ length: 50 }, (_, at) => [`code/${at}.bin`, randomBytes(200_000)] as const)
      const templates = { 'code/more.yaml': 'not of the folder', 'shop/a.yaml': 'one', 'shop/b.json': '{}' }
      await large.commit({ ...Object.fromEntries(others), ...templates })
    })
    after(() => large.close())
    const readWith = (fetch: OutgoingFetch, path = '/shop') =>
      gitFiles(fetch).read({ url: large.url, authorization: large.authorization, ref: 'main', path })
    const SHOP = [
      { path: 'a.yaml', text: 'one' },
      { path: 'b.json', text: '{}' },
    ]

    it('downloads only the matching files', async () => {
      let bytes = 0
      const counting: OutgoingFetch = async (...given) => {
        const whole = Buffer.from(await (await large.fetch(...given)).arrayBuffer())
        bytes += whole.length
        return new Response(whole)
      }
      expect((await readWith(counting)).files).to.deep.equal(SHOP)
      expect(bytes).to.be.below(20_000)
      expect((await readWith(large.fetch, '/')).files?.map(({ path }) => path)).to.deep.equal([
        'code/more.yaml',
        'shop/a.yaml',
        'shop/b.json',
      ])
    })

    it('fails if the host cannot filter and the rest is too large', async () => {
      await large.canFilter(false)
      expect(['TooLarge', 'Unreachable']).to.include(await reasonOf(readWith(large.fetch)))
      await large.canFilter(true)
    })
  })

  it('returns the files if the host cannot filter', async () => {
    await world.commit({ 'plain/a.yaml': 'one' })
    await world.canFilter(false)
    expect((await read({ path: '/plain' })).files).to.deep.equal([{ path: 'a.yaml', text: 'one' }])
    await world.canFilter(true)
  })

  it('returns the other files if one is far too large or the host serves no blob by its id', async () => {
    await world.commit({ 'mixed/a.yaml': 'one', 'mixed/vast.yaml': randomBytes(12_000_000).toString('hex') })
    expect((await read({ path: '/mixed' })).files).to.deep.equal([
      { path: 'a.yaml', text: 'one' },
      { path: 'vast.yaml', text: undefined },
    ])
    await world.commit({ 'shy/a.yaml': 'one' })
    const shy: OutgoingFetch = (url, options) =>
      /command=fetch/.test(String(options?.body)) && !/deepen/.test(String(options?.body))
        ? Promise.resolve(new Response('0032ERR upload-pack: not our ref'))
        : world.fetch(url, options)
    const place = { url: world.url, authorization: world.authorization, ref: 'main', path: '/shy' }
    expect((await gitFiles(shy).read(place)).files).to.deep.equal([{ path: 'a.yaml', text: 'one' }])
  })

  it('returns 40 versions of a file that the host sends as deltas of each other', async () => {
    const lines = Array.from(
      { length: 400 },
      (_, index) => `line ${index}: ${createHash('sha1').update(`${index}`).digest('hex')}`,
    )
    const versions = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`copies/${index}.yaml`, lines.with(index, 'changed').join('\n')]),
    )
    await world.commit(versions)
    const { files } = await read({ path: '/copies' })
    expect(Object.fromEntries((files ?? []).map(({ path, text }) => [`copies/${path}`, text]))).to.deep.equal(versions)
  })

  it('reports NotFound without the password and for a missing repository', async () => {
    expect(await reasonOf(read({ authorization: undefined }))).to.equal('NotFound')
    expect(await reasonOf(read({ url: world.url.replace('shop', 'none') }))).to.equal('NotFound')
  })

  it('reports NotAllowed for a metadata address and for plain HTTP', async () => {
    expect(await reasonOf(read({ url: 'https://169.254.169.254/latest' }))).to.equal('NotAllowed')
    expect(await reasonOf(read({ url: 'http://example.com/a.git' }))).to.equal('NotAllowed')
  })

  it("reports Unreachable for an answer that is not Git's, and NotFound for a redirect", async () => {
    for (const text of ['<html>', '', '0005', 'zzzz', '000cversion 1'])
      expect(
        await reasonOf(gitFiles(async () => new Response(text)).read({ url: 'https://x', ref: 'a', path: '/' })),
      ).to.equal('Unreachable')
    const moved = async () => new Response(null, { status: 302 })
    expect(await reasonOf(gitFiles(moved).read({ url: 'https://x', ref: 'a', path: '/' }))).to.equal('NotFound')
  })
})

/** A pack of one object, as a malicious host could build it. */
function packOf(type: number, size: number, bytes: Buffer, count = 1): Buffer {
  const header = [((type << 4) | (size & 15)) & 0x7f]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    header[header.length - 1] = (header.at(-1) ?? 0) | 0x80
    header.push(rest & 0x7f)
  }
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  head.writeUInt32BE(count, 8)
  const body = Buffer.concat([head, Buffer.from(header), deflateSync(bytes)])
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}

describe('parsePktLines', () => {
  for (const [what, unit] of [
    ['empty lines', '0004'],
    ['flush packets', '0000'],
  ] as const)
    it(`rejects more than 50,000 ${what}`, () => {
      const lines = parsePktLines(Buffer.from(unit.repeat(2_000_000)))
      expect(() => [...lines]).to.throw(RangeError, 'more than 50000 lines')
    })
})

describe('readPack and applyDelta', () => {
  it('returns objects by their ids', async () => {
    const found = await readPack(packOf(3, 2, Buffer.from('hi')))
    expect([...found.keys()]).to.deep.equal(['32f95c0d1244a78b2be1bab8de17906fabb2c4a8'])
  })

  const BASE = Buffer.alloc(20, 1)
  const cases: [string, Buffer, typeof PackTooLarge | typeof RangeError][] = [
    ['states an object of a gigabyte', packOf(3, 1e9, Buffer.from('x')), PackTooLarge],
    ['states a million objects', packOf(3, 1, Buffer.from('x'), 1_000_000), PackTooLarge],
    ['has an object longer than stated', packOf(3, 10, Buffer.alloc(50_000_000)), RangeError],
    ['has an object shorter than stated', packOf(3, 10, Buffer.from('x')), RangeError],
    ['has fewer objects than stated', packOf(3, 1, Buffer.from('x'), 2), RangeError],
    ['has an object of an unknown type', packOf(5, 1, Buffer.from('x')), RangeError],
    ['has a delta of a missing object', packOf(7, 1, BASE), RangeError],
    [
      'has a wrong checksum',
      Buffer.concat([packOf(3, 1, Buffer.from('x')).subarray(0, -1), Buffer.from('?')]),
      RangeError,
    ],
    ['is cut off', Buffer.from('PACK'), RangeError],
  ]
  it('yields to other tasks during a delta of 100,000 steps', () => {
    // Each step inserts one byte: a pack of 70 kilobytes takes some seconds.
    const length = 100_000
    const announced = Buffer.from([(length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14])
    const delta = Buffer.concat([Buffer.from([BASE.length]), announced, Buffer.alloc(2 * length, 1)])
    const work = applyDelta(BASE, delta, () => {})
    let cuts = 0
    while (work.next().done !== true) cuts += 1
    expect(cuts).to.be.greaterThan(90)
  })

  it('rejects 100 deltas in the worst order before it has tried all of them', async () => {
    const idOf = (bytes: Buffer) => createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest()
    const versions = Array.from({ length: 100 }, (_, index) => Buffer.from([index]))
    const [first = Buffer.alloc(1), ...later] = versions
    // Each version is a delta of the one before, with one new byte; the last one comes first.
    const changes = later.map((bytes, index) => {
      const delta = Buffer.from([1, 1, 1, ...bytes])
      return Buffer.concat([Buffer.from([0x70 | delta.length]), idOf(versions[index] ?? first), deflateSync(delta)])
    })
    const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
    head.writeUInt32BE(versions.length, 8)
    const whole = Buffer.concat([Buffer.from([0x31]), deflateSync(first)])
    const packed = (entries: readonly Buffer[]) => {
      const body = Buffer.concat([head, ...entries])
      return Buffer.concat([body, createHash('sha1').update(body).digest()])
    }
    expect((await readPack(packed([whole, ...changes]))).size).to.equal(versions.length)
    const error: unknown = await readPack(packed([...changes.toReversed(), whole])).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(RangeError)
  })

  for (const [sentence, bytes, kind] of cases)
    it(`rejects a pack that ${sentence}`, async () => {
      const error: unknown = await readPack(bytes).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(kind)
    })
})

describe('readFilesOfCommit', () => {
  const objects = new Map<string, GitObject>()
  const keep = (type: 'tree' | 'commit' | 'blob', bytes: Buffer) => {
    const id = createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex')
    objects.set(id, { type, bytes })
    return id
  }
  const treeOf = (mode: string, names: readonly string[], id: string) =>
    keep('tree', Buffer.concat(names.flatMap((name) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')])))
  const commitOf = (tree: string) => keep('commit', Buffer.from(`tree ${tree}\nauthor a\n\nx\n`))
  const names = (count: number, end = '') => Array.from({ length: count }, (_, index) => `f${index}${end}`)

  it('rejects a tree that contains itself many times before it has visited all of it', () => {
    let tree = treeOf('100644', ['a.txt'], keep('blob', Buffer.from('x')))
    for (let depth = 0; depth < 8; depth += 1) tree = treeOf('40000', names(20), tree)
    expect(() => runUnsliced(readFilesOfCommit(objects, commitOf(tree), '/'))).to.throw(
      GitFilesError,
      'more than 20000',
    )
  })

  it('rejects a tree with many names of one large file before it has read all of them', () => {
    const tree = treeOf('100644', names(20, '.yaml'), keep('blob', Buffer.alloc(262_144, 'x')))
    expect(() => runUnsliced(readFilesOfCommit(objects, commitOf(tree), '/'))).to.throw(
      GitFilesError,
      'more than 4194304 bytes',
    )
  })
})
