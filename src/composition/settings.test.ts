import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { readConfiguration } from '../config.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { Part } from './part.ts'
import { followSettings } from './settings.ts'

const ISSUER = 'issuer: https://id.example.com\n'

describe('settings that change', () => {
  let folder: string
  let parts: Part[]
  let round = 0

  /** As a kubelet does it: a new folder, and one turn of a link. */
  const mount = async (files: Record<string, string>) => {
    round += 1
    const data = join(folder, `..${round}`)
    await mkdir(data)
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(data, name), text)
      await symlink(join('..data', name), join(folder, name)).catch(() => undefined)
    }
    await symlink(data, join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  const follow = (turn?: () => Promise<void>) => {
    const seen = { restarts: 0, errors: [] as unknown[] }
    const file = join(folder, 'configuration.yaml')
    const log: Log = { ...silentLog, error: (fields) => void seen.errors.push(fields) }
    const read = () => readConfiguration({ PLATFORM_CONFIG_FILE: file })
    const restart = () => {
      seen.restarts += 1
    }
    parts.push(followSettings({ file, read, log, turn, restart }))
    return seen
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-settings-'))
    parts = []
  })
  afterEach(async () => {
    for (const part of parts) await part.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('start the process again, once it is its turn', async () => {
    await mount({ 'configuration.yaml': ISSUER })
    let begin: () => void = () => undefined
    const asked = new Promise<void>((done) => {
      begin = done
    })
    let go: () => void = () => undefined
    const turn = () =>
      new Promise<void>((done) => {
        go = done
        begin()
      })
    const seen = follow(turn)
    await mount({ 'configuration.yaml': `${ISSUER}region: north\n` })
    await asked
    expect(seen.restarts).to.equal(0)
    go()
    await until('it is started again', () => seen.restarts === 1)
  })

  it('count with the files beside them, such as an authority', async () => {
    await mount({ 'configuration.yaml': ISSUER, 'authority.crt': 'one' })
    const seen = follow()
    await mount({ 'configuration.yaml': ISSUER, 'authority.crt': 'two' })
    await until('it is started again', () => seen.restarts === 1)
  })

  it('stay in force while the new ones cannot be used, which is logged once; comments change nothing', async () => {
    await mount({ 'configuration.yaml': ISSUER })
    const seen = follow()
    for (let time = 0; time < 2; time += 1) await mount({ 'configuration.yaml': `${ISSUER}regoin: north\n` })
    await until('it is logged', () => seen.errors.length > 0)
    await mount({ 'configuration.yaml': `# only words\n${ISSUER}` })
    expect(await readFile(join(folder, 'configuration.yaml'), 'utf8')).to.contain('only words')
    await mount({ 'configuration.yaml': `${ISSUER}region: north\n` })
    await until('it is started again', () => seen.restarts === 1)
    expect(JSON.stringify(seen.errors)).to.contain('regoin')
    expect(seen.errors).to.have.length(1)
  })

  it('are not followed where no kubelet mounted them: nobody would start the process again', async () => {
    await writeFile(join(folder, 'configuration.yaml'), ISSUER)
    const seen = follow()
    await writeFile(join(folder, 'configuration.yaml'), `${ISSUER}region: north\n`)
    expect(seen.restarts).to.equal(0)
  })
})
