import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { type Header, pack } from 'tar-stream'
import { ArchiveRefusedError } from '../../contracts/builds/archive.ts'
import { unpack } from './unpack.ts'

type Entry = Partial<Header> & { name: string; content?: string }

async function archive(...entries: readonly Entry[]): Promise<Buffer> {
  const tar = pack()
  for (const { content = '', ...header } of entries) tar.entry(header as Header & { name: string }, content)
  tar.finalize()
  return buffer(tar as unknown as Readable)
}

describe('unpack', () => {
  let above: string
  let folder: string
  beforeEach(async () => {
    above = await mkdtemp(join(tmpdir(), 'freehold-unpack-'))
    folder = join(above, 'source')
    await mkdir(folder)
  })
  afterEach(() => rm(above, { recursive: true, force: true }))

  const unpacked = (bytes: Buffer, limits?: Parameters<typeof unpack>[2]) =>
    unpack(Readable.from([bytes]), folder, limits)
  async function refusalOf(bytes: Buffer, limits?: Parameters<typeof unpack>[2]): Promise<string> {
    try {
      await unpacked(bytes, limits)
    } catch (error) {
      if (error instanceof ArchiveRefusedError) return error.message
      throw error
    }
    throw new Error('It was not refused.')
  }

  it('writes files with their executable bit, and links that stay inside', async () => {
    const tar = await archive(
      { name: 'bin/run', mode: 0o4755, content: 'go' },
      { name: 'empty/', type: 'directory' },
      { name: 'latest', type: 'symlink', linkname: 'bin/run' },
      { name: 'readme', mode: 0o600, content: 'words' },
    )
    expect(await unpacked(gzipSync(tar))).to.deep.equal({ files: 2, bytes: 7 })
    expect(await readFile(join(folder, 'latest'), 'utf8')).to.equal('go')
    expect(await readlink(join(folder, 'latest'))).to.equal('bin/run')
    expect((await stat(join(folder, 'bin/run'))).mode & 0o7777).to.equal(0o755)
    expect((await stat(join(folder, 'readme'))).mode & 0o7777).to.equal(0o644)
  })

  it('checks an archive without writing it if no folder is given', async () => {
    const tar = gzipSync(await archive({ name: 'a', content: 'x' }))
    expect(await unpack(Readable.from([tar]), undefined)).to.deep.equal({ files: 1, bytes: 1 })
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('rejects an archive whose entry leads out, and writes nothing of it', async () => {
    const tar = await archive({ name: '../outside', content: 'x' }, { name: 'inside', content: 'x' })
    expect(await refusalOf(gzipSync(tar))).to.include('leads out')
    expect(await readdir(folder)).to.deep.equal([])
    expect(await readdir(above)).to.deep.equal(['source'])
  })

  it('does not write through a link from the archive', async () => {
    const tar = await archive({ name: 'a', type: 'symlink', linkname: 'b' }, { name: 'a/c', content: 'x' })
    expect(await refusalOf(gzipSync(tar))).to.include('below a path that is not a folder')
  })

  it('rejects an archive with more than 1 MiB outside of its entries, however well it compresses', async () => {
    const zeros = gzipSync(Buffer.concat([await archive({ name: 'a' }), Buffer.alloc(200 * 1024 ** 2)]))
    expect(zeros.length).to.be.lessThan(1024 ** 2)
    expect(await refusalOf(zeros)).to.include('more than 1048576 bytes that belong to no entry')
  })

  const whole = async () => gzipSync(await archive({ name: 'a', content: randomBytes(50_000).toString('hex') }))
  const broken: [sentence: string, bytes: () => Promise<Buffer>][] = [
    ['plain text', async () => Buffer.from('hello')],
    ['an empty file', async () => Buffer.alloc(0)],
    ['a gzip stream that is cut off', async () => (await whole()).subarray(0, 20_000)],
    ['text in gzip', async () => gzipSync('hello '.repeat(1_000))],
    [
      'a tar without its end',
      async () => gzipSync((await archive({ name: 'a', content: 'x'.repeat(9_000) })).subarray(0, 3_000)),
    ],
  ]
  for (const [sentence, bytes] of broken) {
    it(`rejects ${sentence}`, async () => expect(await refusalOf(await bytes())).to.equal('It is not a whole tar.gz.'))
  }
})
