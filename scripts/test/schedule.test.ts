import { expect } from 'chai'
import { runSideBySide, type Work } from './schedule.ts'

describe('runSideBySide', () => {
  /** Parts that end when told to. */
  function parts(weights: Record<string, number>) {
    const begun: string[] = []
    const ends = new Map<string, (error?: Error) => void>()
    const works = Object.entries(weights).map(
      ([title, weight]): Work => ({
        weight,
        run: () =>
          new Promise((done, fail) => {
            begun.push(title)
            ends.set(title, (error) => (error === undefined ? done() : fail(error)))
          }),
      }),
    )
    const end = async (title: string, error?: Error) => {
      ends.get(title)?.(error)
      await new Promise((done) => setImmediate(done))
    }
    return { begun, works, end }
  }

  it('starts parts in order while cores are free', async () => {
    const { begun, works, end } = parts({ a: 1, b: 1, c: 1 })
    const all = runSideBySide(works, 2)
    expect(begun).to.deep.equal(['a', 'b'])
    await end('b')
    expect(begun).to.deep.equal(['a', 'b', 'c'])
    await end('a')
    await end('c')
    await all
  })

  it('starts lighter parts before one that is too heavy', async () => {
    const { begun, works, end } = parts({ a: 1.4, b: 1, c: 0.6 })
    const all = runSideBySide(works, 2)
    expect(begun).to.deep.equal(['a', 'c'])
    await end('c')
    expect(begun).to.deep.equal(['a', 'c'])
    await end('a')
    expect(begun).to.deep.equal(['a', 'c', 'b'])
    await end('b')
    await all
  })

  it('runs a part alone that needs more cores than there are', async () => {
    const { begun, works, end } = parts({ a: 3, b: 1 })
    const all = runSideBySide(works, 2)
    expect(begun).to.deep.equal(['a'])
    await end('a')
    expect(begun).to.deep.equal(['a', 'b'])
    await end('b')
    await all
  })

  it('starts no part after an abort', async () => {
    const { begun, works, end } = parts({ a: 1, b: 1 })
    const abort = new AbortController()
    const all = runSideBySide(works, 1, abort.signal)
    abort.abort()
    await end('a')
    await all
    expect(begun).to.deep.equal(['a'])
  })

  it('runs all parts although one fails, and rejects at the end', async () => {
    const { begun, works, end } = parts({ a: 1, b: 1 })
    const all = runSideBySide(works, 1).then(
      () => 'passed',
      (error: Error) => error.message,
    )
    await end('a', new Error('a broke'))
    expect(begun).to.deep.equal(['a', 'b'])
    await end('b')
    expect(await all).to.equal('a broke')
  })
})
