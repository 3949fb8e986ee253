import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { buildInto, takeBuildLock } from './build.ts'
import { identityOf } from './identity.ts'
import { tryLock } from './lockfile.ts'
import { type Progress, silentProgress } from './progress.ts'

describe('takeBuildLock', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-build-lock-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  /** Returns the progress until it has tried once and waits. */
  async function toldWhile(pid: number): Promise<string[]> {
    const path = join(folder, 'lock')
    await writeFile(path, JSON.stringify({ pid, identity: identityOf(pid) }))
    const told: string[] = []
    const progress: Progress = { note: (text) => told.push(text), step: (_, work) => work() }
    const leave = new AbortController()
    const { signal } = leave
    const begin = signal.addEventListener.bind(signal)
    const waits = new Promise<void>((done) => {
      signal.addEventListener = (...given: Parameters<typeof begin>) => {
        begin(...given)
        done()
      }
    })
    const taking = takeBuildLock(path, progress, signal).catch(() => {})
    await waits
    leave.abort()
    await taking
    return told
  }

  it('reports a build of another process', async () => {
    const told = await toldWhile(process.ppid)
    expect(told.join()).to.match(/^Another build .* is under way/)
  })

  it('does not report a build of its own process', async () => {
    expect(await toldWhile(process.pid)).to.deep.equal([])
  })
})

describe('buildInto', () => {
  let cache: string
  beforeEach(async () => {
    cache = await mkdtemp(join(tmpdir(), 'freehold-build-into-'))
  })
  afterEach(() => rm(cache, { recursive: true, force: true }))
  const into = () => ({ folder: join(cache, 'tool-1'), module: 'tool', progress: silentProgress, signal: undefined })

  it('removes the files of a killed build and its own', async () => {
    await mkdir(join(into().folder, '.build-killed'), { recursive: true })
    await buildInto(into(), async (temporary) => {
      expect(await readdir(into().folder)).to.deep.equal([basename(temporary)])
      await writeFile(join(temporary, 'half'), 'x')
    })
    expect(await readdir(into().folder)).to.deep.equal([])
  })

  it('releases the lock if it fails before the build', async () => {
    const release = await tryLock(join(cache, '.building-tool'))
    const building = buildInto(into(), async () => undefined).catch((error: NodeJS.ErrnoException) => error.code)
    await until('its folder is there', async () => (await readdir(cache)).includes('tool-1'))
    await rm(into().folder, { recursive: true })
    await release?.()
    expect(await building).to.equal('ENOENT')
    expect(await readdir(cache)).to.deep.equal([])
  })
})
