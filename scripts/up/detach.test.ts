import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startDetached } from './detach.ts'

const DETACH = JSON.stringify(new URL('detach.ts', import.meta.url).href)
/** Starts its log, prints what it is told to, and is ready. */
const READY = `import { beginLog } from ${DETACH}; beginLog(); console.error(process.argv[2]); process.send({ ready: {} })`
/** Finds that another one is running. */
const SECOND = 'console.error("Another one runs."); process.exit(1)'

describe('the log of a platform in the background', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-detach-'))
    await writeFile(join(folder, 'ready.mjs'), READY)
    await writeFile(join(folder, 'second.mjs'), SECOND)
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const start = (script: string, word: string) => startDetached(join(folder, script), [word], folder, () => {})
  const log = () => readFile(join(folder, 'up.log'), 'utf8')

  it('stays where another one tries to start meanwhile', async () => {
    await start('ready.mjs', 'first')
    const failure = await start('second.mjs', 'x').catch(({ message }: Error) => message)
    expect(failure).to.include('Another one runs.')
    expect(await log()).to.equal('first\nAnother one runs.\n')
  })

  it('begins anew with the next one that runs', async () => {
    await start('ready.mjs', 'first')
    await start('ready.mjs', 'next')
    expect(await log()).to.equal('next\n')
  })
})
