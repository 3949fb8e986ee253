import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { extract } from 'tar-stream'
import type { FileAnswer, FileRequest } from '../../../contracts/files.ts'
import { END_FRAME, encodeFrame } from '../frames.ts'
import { decodeFileAnswer } from '../session.ts'
import { serve } from './serve.ts'

type Answer = {
  refused?: string
  entries?: { name: string; path: string; type: string; linkTarget: string | null; mode: string }[]
  truncated?: boolean
  entry?: { name: string; path: string; type: string; sizeBytes: number }
  isNew?: boolean
  first?: number
  last?: number
  removed?: boolean
  sizeBytes?: number
}

describe('serve', () => {
  let root: string
  let volumes: { path: string; folder: string }[]
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'files-'))
    for (const name of ['data', 'cache', 'secret']) mkdirSync(join(root, name))
    writeFileSync(join(root, 'secret/key'), 'canary')
    volumes = [
      { path: '/data', folder: join(root, 'data') },
      { path: '/var/cache', folder: join(root, 'cache') },
    ]
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const inData = (path: string) => join(root, 'data', path)
  const run = async (request: FileRequest, body?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, ends = true) => {
    async function* input() {
      yield* encodeFrame(Buffer.from(JSON.stringify({ volumes, request })))
      for await (const part of body ?? []) yield* encodeFrame(part)
      if (ends) yield END_FRAME
    }
    const output = new PassThrough()
    const served = serve(input(), output)
    const { answer, bytes } = await decodeFileAnswer(output)
    const found = {
      answer: answer as Answer & FileAnswer,
      bytes: await buffer(bytes),
    }
    // A client with a complete answer disconnects.
    await served.catch(() => undefined)
    return found
  }
  const upload = (path: string, text: string, overwrite = true) => {
    const at = path.lastIndexOf('/')
    const request: FileRequest = { op: 'upload', path: path.slice(0, at) || '/', name: path.slice(at + 1), overwrite }
    return run(request, [Buffer.from(text)])
  }
  const list = async (path: string) => (await run({ op: 'list', path })).answer
  const download = async (path: string) => {
    const { answer, bytes } = await run({ op: 'download', path })
    return answer.refused ?? bytes.toString()
  }
  const archive = async (path: string) => {
    const { bytes } = await run({ op: 'archive', path })
    const found: Record<string, string> = {}
    const reader = extract()
    reader.on('entry', (header, stream, next) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk) => chunks.push(chunk as Buffer))
      stream.on('end', () => {
        found[header.name] =
          header.type === 'file' ? Buffer.concat(chunks).toString() : `${header.type} ${header.linkname}`
        next()
      })
    })
    const ended = new Promise((resolve) => reader.on('finish', resolve as () => void))
    Readable.from([gunzipSync(bytes)]).pipe(reader)
    await ended
    return found
  }

  it('lists folders first, with the targets of links', async () => {
    mkdirSync(inData('z'))
    writeFileSync(inData('b'), 'bb')
    writeFileSync(inData('a'), 'a')
    chmodSync(inData('a'), 0o640)
    symlinkSync('b', inData('c'))
    execFileSync('mkfifo', [inData('pipe')])
    const { entries, truncated } = await list('/data')
    expect(truncated).to.equal(false)
    expect(entries?.map(({ name, path, type, linkTarget }) => [name, path, type, linkTarget])).to.deep.equal([
      ['z', '/data/z', 'Directory', null],
      ['a', '/data/a', 'File', null],
      ['b', '/data/b', 'File', null],
      ['c', '/data/c', 'Link', 'b'],
    ])
    expect(entries?.[1]?.mode).to.equal('0640')
  })

  it('lists the path from the root to the mounts, and nothing beside them', async () => {
    expect((await list('/')).entries?.map(({ path }) => path)).to.deep.equal(['/data', '/var'])
    expect((await list('/var')).entries?.map(({ path }) => path)).to.deep.equal(['/var/cache'])
    for (const path of [
      '/etc',
      '/var/log',
      '/dat',
      '/data2',
      '/proc/self',
      '/data/../secret',
      'data',
      '',
      '/data/a\0b',
    ])
      expect((await list(path)).refused, path).to.equal('NotAllowed')
    expect((await list('/data/none')).refused).to.equal('NotFound')
  })

  it('truncates the list of a folder with more than 5,000 entries', async () => {
    for (let at = 0; at < 5_001; at += 1) writeFileSync(inData(`f${at}`), '')
    const { entries, truncated } = await list('/data')
    expect([entries?.length, truncated]).to.deep.equal([5_000, true])
  })

  it('truncates a list whose names exceed the size of an answer', async () => {
    for (let at = 0; at < 4_000; at += 1) writeFileSync(inData(`${at}${'\u0001'.repeat(240)}`), '')
    const { entries = [], truncated } = await list('/data')
    expect(truncated).to.equal(true)
    expect(entries.length).to.be.within(1_000, 3_999)
  })

  it('downloads files and byte ranges', async () => {
    writeFileSync(inData('a'), '0123456789')
    const part = async (range: { first: number; last?: number } | { suffix: number }) => {
      const { answer, bytes } = await run({ op: 'download', path: '/data/a', range })
      return answer.refused ?? `${answer.first}-${answer.last} ${bytes}`
    }
    expect(await download('/data/a')).to.equal('0123456789')
    expect(await part({ first: 2, last: 4 })).to.equal('2-4 234')
    expect(await part({ first: 8 })).to.equal('8-9 89')
    expect(await part({ first: 8, last: 100 })).to.equal('8-9 89')
    expect(await part({ suffix: 3 })).to.equal('7-9 789')
    expect(await part({ suffix: 100 })).to.equal('0-9 0123456789')
    expect(await part({ first: 10 })).to.equal('NotSatisfiable')
    expect(await part({ suffix: 0 })).to.equal('NotSatisfiable')
    writeFileSync(inData('empty'), '')
    expect(await download('/data/empty')).to.equal('')
    expect(await download('/data')).to.equal('IsDirectory')
    expect(await download('/')).to.equal('IsDirectory')
  })

  it('writes an uploaded file completely or not at all', async () => {
    expect((await upload('/data/a', 'one')).answer).to.deep.include({ isNew: true })
    expect((await upload('/data/a', 'two')).answer).to.deep.include({ isNew: false })
    expect((await upload('/data/a', 'three', false)).answer.refused).to.equal('AlreadyExists')
    expect((await upload('/data/none/a', 'x')).answer.refused).to.equal('NotFound')
    const lost = await run({ op: 'upload', path: '/data', name: 'b', overwrite: true }, [Buffer.from('part')], false)
    expect(lost.answer.refused).to.equal('Incomplete')
    expect([readFileSync(inData('a'), 'utf8'), readdirSync(inData(''))]).to.deep.equal(['two', ['a']])
  })

  it('keeps the mode of a replaced file and the content of its hard links', async () => {
    writeFileSync(inData('a'), 'one')
    chmodSync(inData('a'), 0o750)
    linkSync(inData('a'), join(root, 'secret/linked'))
    await upload('/data/a', 'two')
    expect(readFileSync(join(root, 'secret/linked'), 'utf8')).to.equal('one')
    expect(lstatSync(inData('a')).mode & 0o777).to.equal(0o750)
  })

  it('does not write over a folder or outside of the volumes', async () => {
    mkdirSync(inData('folder'))
    expect((await upload('/data/folder', 'x')).answer.refused).to.equal('AlreadyExists')
    expect((await upload('/a', 'x')).answer.refused).to.equal('NotAllowed')
    expect((await upload('/var/a', 'x')).answer.refused).to.equal('NotAllowed')
    for (const name of ['..', '.', 'a/b', '', 'a\0', 'x'.repeat(256), '\ud800']) {
      const { answer } = await run({ op: 'upload', path: '/data', name, overwrite: true }, [Buffer.from('x')])
      expect(answer.refused, JSON.stringify(name)).to.equal('NotAllowed')
    }
  })

  it('creates folders, with their parents if requested', async () => {
    const make = async (path: string, parents = true) => {
      const { answer } = await run({ op: 'makeDirectory', path, parents })
      return answer.refused ?? answer.isNew
    }
    expect(await make('/data/a/b/c', false)).to.equal('NotFound')
    expect(await make('/data/a/b/c')).to.equal(true)
    expect(await make('/data/a/b/c')).to.equal(false)
    expect(await make('/data')).to.equal(false)
    await upload('/data/a/file', 'x')
    expect(await make('/data/a/file')).to.equal('AlreadyExists')
    expect(await make('/data/a/file/b')).to.equal('NotFound')
    expect(await make('/var/other')).to.equal('NotAllowed')
    expect(await make('/')).to.equal('NotAllowed')
  })

  it('moves files and folders within their volume', async () => {
    await upload('/data/a', 'one')
    mkdirSync(inData('folder/in'), { recursive: true })
    const move = async (from: string, to: string, overwrite = false) => {
      const { answer } = await run({ op: 'move', from, to, overwrite })
      return answer.refused ?? answer.entry?.path
    }
    expect(await move('/data/a', '/data/folder/b')).to.equal('/data/folder/b')
    expect(await move('/data/a', '/data/c')).to.equal('NotFound')
    await upload('/data/a', 'two')
    expect(await move('/data/a', '/data/folder/b')).to.equal('AlreadyExists')
    expect(await move('/data/a', '/data/folder/b', true)).to.equal('/data/folder/b')
    expect(readFileSync(inData('folder/b'), 'utf8')).to.equal('two')
    expect(await move('/data/folder', '/data/folder/in/side')).to.equal('NotAllowed')
    expect(await move('/data/folder', '/data/renamed')).to.equal('/data/renamed')
    expect(await move('/data/renamed/b', '/data/renamed/in', true)).to.equal('AlreadyExists')
    expect(await move('/data', '/var/cache/data')).to.equal('NotAllowed')
    expect(await move('/data/renamed', '/tmp/x')).to.equal('NotAllowed')
  })

  it('removes files, and folders with content only if requested', async () => {
    mkdirSync(inData('folder/deep'), { recursive: true })
    await upload('/data/folder/deep/a', 'x')
    execFileSync('mkfifo', [inData('folder/pipe')])
    symlinkSync(join(root, 'secret'), inData('folder/out'))
    const remove = async (path: string, recursive = false) => {
      const { answer } = await run({ op: 'remove', path, recursive })
      return answer.refused ?? answer.removed
    }
    expect(await remove('/data/folder')).to.equal('NotEmpty')
    expect(await remove('/data/folder', true)).to.equal(true)
    expect(await remove('/data/folder')).to.equal('NotFound')
    expect(await remove('/data', true)).to.equal('NotAllowed')
    expect(await remove('/var/cache', true)).to.equal('NotAllowed')
    expect(await remove('/', true)).to.equal('NotAllowed')
    expect(existsSync(join(root, 'secret/key'))).to.equal(true)
  })

  it('archives folders, with links as links', async () => {
    await upload('/data/a', 'one')
    mkdirSync(inData(`folder/${'n'.repeat(120)}`), { recursive: true })
    await upload(`/data/folder/${'n'.repeat(120)}/b`, 'x'.repeat(300_000))
    symlinkSync(join(root, 'secret/key'), inData('out'))
    execFileSync('mkfifo', [inData('pipe')])
    const found = await archive('/data')
    expect(Object.keys(found).sort()).to.deep.equal(
      ['a', 'folder', `folder/${'n'.repeat(120)}`, `folder/${'n'.repeat(120)}/b`, 'out'].sort(),
    )
    expect(found.a).to.equal('one')
    expect(found[`folder/${'n'.repeat(120)}/b`]?.length).to.equal(300_000)
    expect(found.out).to.equal(`symlink ${join(root, 'secret/key')}`)
    expect(await archive('/data/a')).to.deep.equal({ a: 'one' })
  })

  it('archives up to 1,000 nested folders, and removes any depth', async () => {
    nest('folder', 700)
    await upload('/data/folder/file', 'x')
    expect(Object.keys(await archive('/data/folder'))).to.have.length(700)
    nest('deeper', 1_100)
    expect((await run({ op: 'archive', path: '/data/deeper' })).answer.refused).to.equal('TooDeep')
    for (const path of ['/data/folder', '/data/deeper'])
      expect((await run({ op: 'remove', path, recursive: true })).answer).to.deep.equal({ removed: true })
    expect(readdirSync(inData(''))).to.deep.equal([])
  })

  /** Nested folders, deeper than a path could be long. */
  function nest(name: string, count: number): void {
    const path = '/d'.repeat(500)
    const below = Math.ceil(count / 500) - 1
    mkdirSync(inData(`${name}${'/d'.repeat(count - 1 - 500 * below)}`), { recursive: true })
    for (let round = 0; round < below; round += 1) {
      mkdirSync(join(root, `nested${path}`), { recursive: true })
      renameSync(inData(name), join(root, `nested${path}/d`))
      renameSync(join(root, 'nested/d'), inData(name))
      rmSync(join(root, 'nested'), { recursive: true })
    }
  }

  it('follows links that stay in the volumes', async () => {
    await upload('/data/a', 'one')
    mkdirSync(inData('folder/deep'), { recursive: true })
    symlinkSync('../../a', inData('folder/deep/up'))
    symlinkSync('/data/folder', inData('absolute'))
    symlinkSync('/var/cache/c', inData('other'))
    writeFileSync(join(root, 'cache/c'), 'cached')
    expect(await download('/data/folder/deep/up')).to.equal('one')
    expect(await download('/data/absolute/deep/up')).to.equal('one')
    expect(await download('/data/other')).to.equal('cached')
    await upload('/data/absolute/new', 'x')
    expect(existsSync(inData('folder/new'))).to.equal(true)
  })

  it('follows no link out of the volumes, anywhere in a path', async () => {
    const links = [
      ...['/', '..', '../..', '../secret', '../secret/key', join(root, 'secret'), '/proc/self/root', '/proc/self/fd'],
      ...[
        'folder/../../secret',
        '/data/../secret',
        '/etc/passwd',
        '/dev/zero',
        'loop',
        '/var',
        '.././..//secret',
        '/..',
      ],
    ]
    mkdirSync(inData('folder'))
    for (const [at, target] of links.entries()) symlinkSync(target, inData(target === 'loop' ? 'loop' : `link${at}`))
    const names = readdirSync(inData('')).filter((name) => name !== 'folder')
    for (const name of names) {
      for (const path of [
        `/data/${name}`,
        `/data/${name}/key`,
        `/data/${name}/secret/key`,
        `/data/folder/../${name}`,
      ]) {
        const requests: FileRequest[] = [
          { op: 'list', path },
          { op: 'download', path },
          { op: 'archive', path },
          { op: 'upload', path, name: 'planted', overwrite: true },
          { op: 'makeDirectory', path: `${path}/planted`, parents: true },
          { op: 'move', from: `${path}/key`, to: '/data/stolen', overwrite: true },
          { op: 'move', from: '/data/folder', to: `${path}/planted`, overwrite: true },
          { op: 'remove', path: `${path}/key`, recursive: true },
        ]
        for (const request of requests) {
          const { answer, bytes } = await run(request, [Buffer.from('x')])
          expect(answer.refused, `${JSON.stringify(request)} gives ${JSON.stringify(answer)}`).to.be.oneOf([
            'NotAllowed',
            'NotFound',
          ])
          expect(bytes.toString()).not.to.include('canary')
        }
      }
    }
    expect(readdirSync(root).sort()).to.deep.equal(['cache', 'data', 'secret'])
    expect(readdirSync(join(root, 'secret'))).to.deep.equal(['key'])
    expect(existsSync(inData('stolen'))).to.equal(false)
  })

  it('does not open FIFOs and devices', async () => {
    execFileSync('mkfifo', [inData('pipe')])
    symlinkSync('pipe', inData('link'))
    for (const path of ['/data/pipe', '/data/link']) {
      expect(await download(path), path).to.equal('NotAllowed')
      expect((await run({ op: 'archive', path })).answer.refused).to.equal('NotAllowed')
    }
    expect((await upload('/data/pipe', 'x')).answer.refused).to.equal(undefined)
    expect(lstatSync(inData('pipe')).isFile()).to.equal(true)
  })

  it('follows no link that replaces a folder at the same time', async () => {
    mkdirSync(inData('turn'))
    writeFileSync(inData('turn/key'), 'harmless')
    symlinkSync(join(root, 'secret'), inData('other'))
    // Another thread swaps the folder and the link all the time.
    const swap = `
      const { renameSync } = require('node:fs')
      for (;;) for (const [from, to] of require('node:worker_threads').workerData) renameSync(from, to)`
    const names = ['turn aside', 'other turn', 'turn other', 'aside turn'].map((pair) => pair.split(' ').map(inData))
    const worker = new Worker(swap, { eval: true, workerData: names })
    try {
      await once(worker, 'online')
      const seen = new Set<string>()
      for (let count = 0; count < 300; count += 1) {
        seen.add(await download('/data/turn/key'))
        seen.add(String((await upload('/data/turn/planted', 'x')).answer.refused))
        await run({ op: 'remove', path: '/data/turn/planted', recursive: true })
      }
      for (const one of seen) expect(one).to.be.oneOf(['harmless', 'undefined', 'NotAllowed', 'NotFound'])
    } finally {
      await worker.terminate()
    }
    expect(readdirSync(join(root, 'secret'))).to.deep.equal(['key'])
  })
})
