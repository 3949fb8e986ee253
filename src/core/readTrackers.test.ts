import { expect } from 'chai'
import { CacheReadTrackers, ReadTracker } from './readTrackers.ts'

type Read = (readers: CacheReadTrackers) => void

async function notificationsAfter(read: Read, change: (readers: CacheReadTrackers) => void): Promise<number> {
  const readers = new CacheReadTrackers()
  let notifications = 0
  const { reading, result } = ReadTracker.begin(
    () => {
      notifications += 1
    },
    async () => read(readers),
  )
  await result
  change(readers)
  reading.end()
  change(readers)
  return notifications
}

describe('ReadTracker', () => {
  const changed = (namespace: string, name: string) => (readers: CacheReadTrackers) => readers.changed(namespace, name)
  const cases: [what: string, read: Read, change: (readers: CacheReadTrackers) => void, heard: number][] = [
    [
      'is notified of a change of the object that was read',
      (all) => all.note('shop', 'one'),
      changed('shop', 'one'),
      1,
    ],
    ['is not notified of another object', (all) => all.note('shop', 'one'), changed('shop', 'two'), 0],
    [
      'is not notified of an object of the same name in another namespace',
      (all) => all.note('shop', 'one'),
      changed('other', 'one'),
      0,
    ],
    ['is notified of each object in a listed namespace', (all) => all.note('shop'), changed('shop', 'new'), 1],
    ['is not notified of another namespace', (all) => all.note('shop'), changed('other', 'one'), 0],
    ['is notified of everything after a read of all', (all) => all.note(), changed('other', 'one'), 1],
    ['is notified of a cluster-scoped object', (all) => all.note('', 'one'), changed('', 'one'), 1],
    ['is notified once if everything changed', (all) => all.note('shop', 'one'), (all) => all.allChanged(), 1],
    ['is not notified without a read', () => {}, changed('shop', 'one'), 0],
    [
      'is notified of the first of many changes',
      (all) => {
        all.note('shop', 'one')
        all.note('shop')
        all.note()
      },
      (all) => {
        all.changed('shop', 'one')
        all.changed('shop', 'two')
      },
      1,
    ],
  ]
  for (const [what, read, change, expected] of cases)
    it(`${what}, and never after its end`, async () =>
      expect(await notificationsAfter(read, change)).to.equal(expected))

  it('tracks reads after an await, but not those of concurrent trackers', async () => {
    const readers = new CacheReadTrackers()
    const notified: string[] = []
    const begin = (name: string) =>
      ReadTracker.begin(
        () => notified.push(name),
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
    expect(notified).to.deep.equal(['two', 'one'])
  })

  it('tracks nothing that is read after its end', async () => {
    const readers = new CacheReadTrackers()
    const { promise, resolve } = Promise.withResolvers<void>()
    let notifications = 0
    const { reading, result } = ReadTracker.begin(
      () => {
        notifications += 1
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
    expect(notifications).to.equal(0)
  })
})
