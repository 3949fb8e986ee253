import { expect } from 'chai'
import { CacheReadTrackers, ReadTracker } from './readTrackers.ts'

type Read = (readers: CacheReadTrackers) => void

async function heardAfter(read: Read, change: (readers: CacheReadTrackers) => void): Promise<number> {
  const readers = new CacheReadTrackers()
  let heard = 0
  const { reading, result } = ReadTracker.begin(
    () => {
      heard += 1
    },
    async () => read(readers),
  )
  await result
  change(readers)
  reading.end()
  change(readers)
  return heard
}

describe('whoever has read something', () => {
  const changed = (namespace: string, name: string) => (readers: CacheReadTrackers) => readers.changed(namespace, name)
  const cases: [what: string, read: Read, change: (readers: CacheReadTrackers) => void, heard: number][] = [
    ['hears of the one that was read', (all) => all.note('shop', 'one'), changed('shop', 'one'), 1],
    ['hears nothing of its neighbour', (all) => all.note('shop', 'one'), changed('shop', 'two'), 0],
    ['hears nothing of its namesake elsewhere', (all) => all.note('shop', 'one'), changed('other', 'one'), 0],
    ['hears of each one of a namespace', (all) => all.note('shop'), changed('shop', 'new'), 1],
    ['hears nothing of another namespace', (all) => all.note('shop'), changed('other', 'one'), 0],
    ['hears of everything that was read as a whole', (all) => all.note(), changed('other', 'one'), 1],
    ['hears of one without a namespace', (all) => all.note('', 'one'), changed('', 'one'), 1],
    ['hears once for each place if all has changed', (all) => all.note('shop', 'one'), (all) => all.allChanged(), 1],
    ['hears nothing of what was not read', () => {}, changed('shop', 'one'), 0],
  ]
  for (const [what, read, change, heard] of cases)
    it(`${what}, and nothing afterwards`, async () => expect(await heardAfter(read, change)).to.equal(heard))

  it('hears of what was read after a pause too, and nobody hears of what others read meanwhile', async () => {
    const readers = new CacheReadTrackers()
    const heard: string[] = []
    const begin = (name: string) =>
      ReadTracker.begin(
        () => heard.push(name),
        async () => {
          await new Promise(setImmediate)
          readers.note('shop', name)
        },
      )
    const both = [begin('one'), begin('two')]
    readers.note('shop', 'three')
    await Promise.all(both.map(({ result }) => result))
    for (const name of ['three', 'two', 'one']) readers.changed('shop', name)
    for (const { reading } of both) reading.end()
    expect(heard).to.deep.equal(['two', 'one'])
  })

  it('holds no place for what is read after the end', async () => {
    const readers = new CacheReadTrackers()
    const { promise, resolve } = Promise.withResolvers<void>()
    let heard = 0
    const { reading, result } = ReadTracker.begin(
      () => {
        heard += 1
      },
      async () => {
        await promise
        readers.note('shop', 'one')
      },
    )
    reading.end()
    resolve()
    await result
    readers.changed('shop', 'one')
    expect(heard).to.equal(0)
  })
})
