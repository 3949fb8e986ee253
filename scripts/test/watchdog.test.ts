import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { endWithAllItStarted } from './watchdog.ts'

describe('endWithAllItStarted', () => {
  it('kills descendants that ignore SIGTERM', async () => {
    const grandchild = "process.on('SIGTERM', () => {}); console.log(process.pid); setInterval(() => {}, 1000)"
    const child = spawn(
      process.execPath,
      [
        '--eval',
        `require('node:child_process').spawn(process.execPath, ['--eval', ${JSON.stringify(grandchild)}], { stdio: 'inherit' })`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [told] = (await once(child.stdout, 'data')) as [Buffer]
    const pid = Number(told)
    const isThere = () => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    expect(isThere()).to.equal(true)
    await endWithAllItStarted(child, once(child, 'exit'))
    await until('it is gone', () => !isThere())
  })
})
