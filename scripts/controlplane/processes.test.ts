import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { PATIENCE } from '../../test/make/until.ts'
import { requireGo } from './build.ts'
import { identityOf, linuxIdentity } from './identity.ts'
import {
  ProcessGroup,
  readProcessRecords,
  stopLeftovers,
  stopRecord,
  tailOf,
  writeProcessRecords,
} from './processes.ts'
import { waitUntil } from './request.ts'

describe('the identity of a process', () => {
  const stat = (state: string) =>
    `12 (a) b (c) ${state} ${Array.from({ length: 40 }, (_, index) => index + 4).join(' ')}`

  it('is boot and start time, whatever the process calls itself', () => {
    expect(linuxIdentity(stat('S'), 'boot')).to.equal('boot:22')
  })
  it('is none for a zombie', () => expect(linuxIdentity(stat('Z'), 'boot')).to.equal(undefined))
  it('is the same from look to look', () => {
    expect(identityOf(process.pid)).to.be.a('string').that.equals(identityOf(process.pid))
  })
})

describe('processes', () => {
  let folder: string
  const strangers: ChildProcess[] = []
  const node = (code: string) => ({ name: 'kwok', program: process.execPath, args: ['-e', code] })

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-processes-'))
  })
  afterEach(async () => {
    for (const stranger of strangers.splice(0)) stranger.kill('SIGKILL')
    await stopLeftovers(folder)
    await rm(folder, { recursive: true, force: true })
  })

  it('that end early give the end of their log and its name', async () => {
    const group = new ProcessGroup(folder)
    group.start(node('for (let i = 1; i <= 30; i += 1) console.log("line " + i); process.exitCode = 3'))
    const error = await group.failed.catch((reason: Error) => reason)
    expect(error.message)
      .to.include('kwok ended (code 3)')
      .and.include(join(folder, 'logs', 'kwok.log'))
    expect(error.message).to.include('line 30').and.include('line 11').and.not.include('line 10\n')
    await group.stop()
  })

  it('are stopped without counting as failed', async () => {
    const group = new ProcessGroup(folder)
    const started = group.start(node('setInterval(() => {}, 1000)'))
    expect(await readProcessRecords(folder)).to.deep.equal([
      { name: 'kwok', pid: started.pid, identity: started.identity },
    ])
    await group.stop()
    expect(identityOf(started.pid)).to.equal(undefined)
    expect(await readProcessRecords(folder)).to.deep.equal([])
    expect(await Promise.race([group.failed.catch(() => 'failed'), Promise.resolve('fine')])).to.equal('fine')
  })

  it('that ignore SIGTERM are killed at the deadline', async () => {
    const group = new ProcessGroup(folder)
    const started = group.start(
      node('process.on("SIGTERM", () => {}); console.log("deaf"); setInterval(() => {}, 1000)'),
    )
    await waitUntil('deafness', PATIENCE, async () => tailOf(started.logFile).includes('deaf'), group.failed)
    expect(await stopRecord(started, 300)).to.equal(true)
    expect(identityOf(started.pid)).to.equal(undefined)
  })

  it('of which a machine that lost its power has kept nothing hold up no start', async () => {
    await writeFile(join(folder, 'processes.json'), '')
    expect(await stopLeftovers(folder)).to.deep.equal([])
  })

  it('of an earlier run are stopped, and a stranger with a recycled number is not', async () => {
    const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    strangers.push(left, stranger)
    const [leftPid, strangerPid] = [Number(left.pid), Number(stranger.pid)]
    writeProcessRecords(folder, [
      { name: 'etcd', pid: leftPid, identity: identityOf(leftPid) ?? '' },
      { name: 'kwok', pid: strangerPid, identity: 'another boot:1' },
    ])
    expect(await stopLeftovers(folder)).to.deep.equal(['etcd'])
    expect(identityOf(leftPid)).to.equal(undefined)
    expect(identityOf(strangerPid)).to.be.a('string')
  })
})

describe('Go', () => {
  for (const version of ['go1.26.0', 'go1.26.8', 'go1.27rc1', 'go2.0', 'devel go1.28-abc']) {
    it(`${version} builds what wants 1.26.0`, () => expect(() => requireGo(version, '1.26.0')).to.not.throw())
  }
  for (const version of ['go1.25.9', 'go1.9', undefined]) {
    it(`${version ?? 'none'} is refused with what to do`, () => {
      expect(() => requireGo(version, '1.26.0')).to.throw(/Install Go 1\.26\.0 or newer/)
    })
  }
})
