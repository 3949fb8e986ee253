import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { takeBuildLock } from './build.ts'
import { identityOf } from './identity.ts'
import type { Progress } from './progress.ts'

describe('who builds while another build is under way', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-build-lock-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  /** @returns what is told by the time that it has looked once, and waits */
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

  it('is told of it, if another process builds', async () => {
    const told = await toldWhile(process.ppid)
    expect(told.join()).to.match(/^Another build .* is under way/)
  })

  it('is not told of builds of its own process', async () => {
    expect(await toldWhile(process.pid)).to.deep.equal([])
  })
})
