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

describe('linuxIdentity and identityOf', () => {
  const stat = (state: string) =>
    `12 (a) b (c) ${state} ${Array.from({ length: 40 }, (_, index) => index + 4).join(' ')}`

  it('return the boot id and the start time, also for a name with parentheses', () => {
    expect(linuxIdentity(stat('S'), 'boot')).to.equal('boot:22')
  })
  it('return undefined for a zombie', () => expect(linuxIdentity(stat('Z'), 'boot')).to.equal(undefined))
  it('return the same for the same process', () => {
    expect(identityOf(process.pid)).to.be.a('string').that.equals(identityOf(process.pid))
  })
})

describe('ProcessGroup and stopLeftovers', () => {
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

  it('report the end of the log of a process that ended early', async () => {
    const group = new ProcessGroup(folder)
    group.start(node('for (let i = 1; i <= 30; i += 1) console.log("line " + i); process.exitCode = 3'))
    const error = await group.failed.catch((reason: Error) => reason)
    expect(error.message)
      .to.include('kwok ended (code 3)')
      .and.include(join(folder, 'logs', 'kwok.log'))
    expect(error.message).to.include('line 30').and.include('line 11').and.not.include('line 10\n')
    await group.stop()
  })

  it('stop processes without reporting a failure', async () => {
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

  it('kill a process that ignores SIGTERM at the deadline', async () => {
    const group = new ProcessGroup(folder)
    const started = group.start(
      node('process.on("SIGTERM", () => {}); console.log("deaf"); setInterval(() => {}, 1000)'),
    )
    await waitUntil('deafness', PATIENCE, async () => tailOf(started.logFile).includes('deaf'), group.failed)
    expect(await stopRecord(started, 300)).to.equal(true)
    expect(identityOf(started.pid)).to.equal(undefined)
  })

  it('accept an empty file of records', async () => {
    await writeFile(join(folder, 'processes.json'), '')
    expect(await stopLeftovers(folder)).to.deep.equal([])
  })

  it('stop processes of an earlier run, but not another process with a reused pid', async () => {
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

describe('requireGo', () => {
  for (const version of ['go1.26.0', 'go1.26.8', 'go1.27rc1', 'go2.0', 'devel go1.28-abc']) {
    it(`accepts ${version} for 1.26.0`, () => expect(() => requireGo(version, '1.26.0')).to.not.throw())
  }
  for (const version of ['go1.25.9', 'go1.9', undefined]) {
    it(`rejects ${version ?? 'a missing Go'} with instructions`, () => {
      expect(() => requireGo(version, '1.26.0')).to.throw(/Install Go 1\.26\.0 or newer/)
    })
  }
})
