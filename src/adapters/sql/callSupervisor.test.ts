import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { type CallSupervisor, superviseCall } from './callSupervisor.ts'
import type { SqlSession } from './driver.ts'
import { isSqlFault } from './port.ts'

const MIB = 1024 * 1024

describe('superviseCall', () => {
  const watches: CallSupervisor[] = []
  afterEach(() => {
    for (const watch of watches.splice(0)) watch.stop()
  })

  /** Sessions that have read this many MiB, and the message with which each was ended. */
  function reading(lengths: readonly number[]): Map<number, string> {
    const ended = new Map<number, string>()
    for (const [index, length] of lengths.entries()) {
      let bytesRead = 0
      const session = {
        get bytesRead() {
          return bytesRead
        },
        destroy: () => undefined,
      } as SqlSession
      const watch = superviseCall(session, { timeout: 60_000 })
      watches.push(watch)
      watch.ended.catch((error: unknown) => {
        if (isSqlFault(error, 'TooLarge')) ended.set(index, error.message)
      })
      bytesRead = length * MIB
    }
    return ended
  }

  it('ends the longest of several results that are too large together', async () => {
    const ended = reading([30, 31, 30, 30, 30, 1])
    await until('one is ended', () => ended.size > 0)
    expect([...ended]).to.deep.equal([[1, 'Databases answer too much at once: try again, or ask for fewer rows.']])
  })

  it('keeps the others if one that is too large by itself makes room', async () => {
    const ended = reading([31, 31, 31, 31, 1, 33])
    await until('the one that is too long is ended', () => ended.size > 0)
    expect([...ended.keys()]).to.deep.equal([5])
  })
})
