import { watch } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { settle } from '../../test/make/clock.ts'
import { until } from '../../test/make/until.ts'
import { readConfiguration } from '../config.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { Part } from './part.ts'
import { followSettings } from './settings.ts'

const ISSUER = 'issuer: https://id.example.com\n'

describe('followSettings', () => {
  let folder: string
  let parts: Part[]
  let round = 0

  /** Like the kubelet: writes a new folder and replaces a symlink. */
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
  const follow = (waitForTurn?: () => Promise<void>) => {
    const seen = { restarts: 0, errors: [] as unknown[] }
    const file = join(folder, 'configuration.yaml')
    const log: Log = { ...silentLog, error: (fields) => void seen.errors.push(fields) }
    const read = () => readConfiguration({ PLATFORM_CONFIG_FILE: file })
    const restart = () => {
      seen.restarts += 1
    }
    parts.push(followSettings({ file, read, log, waitForTurn, restart }))
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

  it('restarts the process when its turn comes', async () => {
    await mount({ 'configuration.yaml': ISSUER })
    let begin: () => void = () => undefined
    const asked = new Promise<void>((done) => {
      begin = done
    })
    let go: () => void = () => undefined
    const waitForTurn = () =>
      new Promise<void>((done) => {
        go = done
        begin()
      })
    const seen = follow(waitForTurn)
    await mount({ 'configuration.yaml': `${ISSUER}region: north\n` })
    await asked
    expect(seen.restarts).to.equal(0)
    go()
    await until('it is started again', () => seen.restarts === 1)
  })

  it('restarts after a change of a file beside the settings', async () => {
    await mount({ 'configuration.yaml': ISSUER, 'authority.crt': 'one' })
    const seen = follow()
    await mount({ 'configuration.yaml': ISSUER, 'authority.crt': 'two' })
    await until('it is started again', () => seen.restarts === 1)
  })

  it('logs invalid settings once and keeps the previous ones; ignores changed comments', async () => {
    await mount({ 'configuration.yaml': ISSUER })
    const seen = follow()
    for (let time = 0; time < 2; time += 1) await mount({ 'configuration.yaml': `${ISSUER}regoin: north\n` })
    await until('it is logged', () => seen.errors.length > 0)
    await mount({ 'configuration.yaml': `# a comment\n${ISSUER}` })
    expect(await readFile(join(folder, 'configuration.yaml'), 'utf8')).to.contain('a comment')
    await mount({ 'configuration.yaml': `${ISSUER}region: north\n` })
    await until('it is started again', () => seen.restarts === 1)
    expect(JSON.stringify(seen.errors)).to.contain('regoin')
    expect(seen.errors).to.have.length(1)
  })

  it('does not restart without a mount of the kubelet', async () => {
    await writeFile(join(folder, 'configuration.yaml'), ISSUER)
    const seen = follow()
    await writeFile(join(folder, 'configuration.yaml'), `${ISSUER}region: north\n`)
    const names: (string | null)[] = []
    // It is notified after a watcher that was opened before it.
    const watcher = watch(folder, (_event, name) => names.push(name))
    await symlink('.', join(folder, '..data'))
    await until('the symlink is seen', () => names.includes('..data'))
    watcher.close()
    await settle()
    expect(seen.restarts).to.equal(0)
  })
})
