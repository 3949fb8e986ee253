import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { HOSTILE_ARCHIVES } from '../../../test/cases/hostileSources/archives.ts'
import { expectClear } from '../../../test/cases/hostileSources/reasons.ts'
import type { Played } from '../../../test/make/archivesApart.ts'

/** Far below what any of the archives expands to. */
const MEMORY_MIB = 192
const CANARY = 'a canary'

describe('reading a hostile archive fails with a reason and changes no file outside of its folder', () => {
  let worker: Worker
  let above: string
  before(() => {
    const script = new URL('../../../test/make/archivesApart.ts', import.meta.url)
    worker = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB } })
  })
  after(() => worker.terminate())
  beforeEach(async () => {
    above = await mkdtemp(join(tmpdir(), 'freehold-hostile-'))
    await writeFile(join(above, 'canary.txt'), CANARY)
  })
  afterEach(() => rm(above, { recursive: true, force: true }))

  async function play(at: number): Promise<Played> {
    const over = new AbortController()
    const answer = once(worker, 'message', over)
    const ended = once(worker, 'exit', over).then(() => Promise.reject(new Error('It took more memory than it may.')))
    worker.postMessage({ at, below: above })
    try {
      return (await Promise.race([answer, ended]))[0]
    } finally {
      over.abort()
      await Promise.allSettled([answer, ended])
    }
  }

  for (const [at, { sentence, says }] of HOSTILE_ARCHIVES.entries()) {
    it(sentence, async () => {
      const { outcome, message } = await play(at)
      expect(outcome, message).to.equal('refused')
      expect(message).to.match(says)
      expectClear(message)
      expect(await readdir(above)).to.have.members(['canary.txt', 'source'])
      expect(await readFile(join(above, 'canary.txt'), 'utf8')).to.equal(CANARY)
    })
  }

  it('has over 200 cases with different titles', () => {
    const sentences = new Set(HOSTILE_ARCHIVES.map(({ sentence }) => sentence))
    expect(sentences.size).to.equal(HOSTILE_ARCHIVES.length).and.be.above(200)
  })
})
