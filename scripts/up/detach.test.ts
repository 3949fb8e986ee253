import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startDetached } from './detach.ts'

const DETACH = JSON.stringify(new URL('detach.ts', import.meta.url).href)
/** Begins its log, prints its argument and becomes ready. */
const READY = `import { beginLog } from ${DETACH}; beginLog(); console.error(process.argv[2]); process.send({ ready: {} })`
/** Fails like a second platform. */
const SECOND = 'console.error("Another one runs."); process.exit(1)'

describe('log of startDetached', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-detach-'))
    await writeFile(join(folder, 'ready.mjs'), READY)
    await writeFile(join(folder, 'second.mjs'), SECOND)
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const start = (script: string, word: string) => startDetached(join(folder, script), [word], folder, () => {})
  const log = () => readFile(join(folder, 'up.log'), 'utf8')

  it('is kept when a second platform fails to start', async () => {
    await start('ready.mjs', 'first')
    const failure = await start('second.mjs', 'x').catch(({ message }: Error) => message)
    expect(failure).to.include('Another one runs.')
    expect(await log()).to.equal('first\nAnother one runs.\n')
  })

  it('is replaced when the next platform starts', async () => {
    await start('ready.mjs', 'first')
    await start('ready.mjs', 'next')
    expect(await log()).to.equal('next\n')
  })
})
