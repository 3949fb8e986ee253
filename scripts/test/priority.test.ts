import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { expect } from 'chai'
import { lowerPriority } from './priority.ts'

const AUTOGROUP = '/proc/self/autogroup'
const hasSessions = () => {
  try {
    return readFileSync(AUTOGROUP, 'utf8') !== ''
  } catch {
    return false
  }
}

describe('lowerPriority', () => {
  let child: ChildProcess
  beforeEach(() => {
    child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
  })
  afterEach(() => child.kill('SIGKILL'))

  it('lowers that of the program, and of its session if the system compares sessions', () => {
    lowerPriority(child)
    expect(getPriority(child.pid)).to.be.above(0)
    if (hasSessions()) expect(readFileSync(`/proc/${child.pid}/autogroup`, 'utf8')).to.match(/ nice [1-9]/)
  })

  it('does nothing to a program that did not start', () => {
    expect(() => lowerPriority({ pid: undefined })).not.to.throw()
  })
})
