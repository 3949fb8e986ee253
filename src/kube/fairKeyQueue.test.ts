import { expect } from 'chai'
import { FairKeyQueue } from './fairKeyQueue.ts'

/** Keys are `<party>/<queue>/<name>`. */
function queueWith(keys: readonly string[]): FairKeyQueue {
  const queue = new FairKeyQueue((key) => {
    const [party = '', queue = ''] = key.split('/')
    return { party, queue }
  })
  for (const [at, key] of keys.entries()) queue.add(key, at)
  return queue
}

function takeAll(queue: FairKeyQueue, mayTake?: (party: string) => boolean): string[] {
  const order: string[] = []
  for (let next = queue.next(mayTake); next !== undefined; next = queue.next(mayTake)) order.push(next.key)
  return order
}

const CASES: readonly { title: string; waiting: readonly string[]; order: readonly string[] }[] = [
  {
    title: 'returns the oldest key of one queue first, each key once',
    waiting: ['a/x/1', 'a/x/2', 'a/x/1', 'a/x/3'],
    order: ['a/x/1', 'a/x/2', 'a/x/3'],
  },
  {
    title: 'takes turns between parties',
    waiting: ['a/x/1', 'a/x/2', 'a/x/3', 'b/x/1', 'c/x/1', 'b/x/2'],
    order: ['a/x/1', 'b/x/1', 'c/x/1', 'a/x/2', 'b/x/2', 'a/x/3'],
  },
  {
    title: 'gives a party with several queues no more turns',
    waiting: ['a/1/x', 'a/2/x', 'a/3/x', 'a/4/x', 'b/1/x', 'b/1/y'],
    order: ['a/1/x', 'b/1/x', 'a/2/x', 'b/1/y', 'a/3/x', 'a/4/x'],
  },
  {
    title: 'takes turns between the queues of a party',
    waiting: ['a/busy/1', 'a/busy/2', 'a/busy/3', 'a/calm/1'],
    order: ['a/busy/1', 'a/calm/1', 'a/busy/2', 'a/busy/3'],
  },
]

describe('FairKeyQueue', () => {
  for (const { title, waiting, order } of CASES)
    it(title, () => {
      const queue = queueWith(waiting)
      expect(takeAll(queue)).to.deep.equal(order)
      expect(queue.depth).to.equal(0)
    })

  it('skips a party that is not eligible and keeps its turn', () => {
    const queue = queueWith(['a/x/1', 'a/x/2', 'b/x/1'])
    expect(takeAll(queue, (party) => party !== 'a')).to.deep.equal(['b/x/1'])
    expect(takeAll(queue)).to.deep.equal(['a/x/1', 'a/x/2'])
  })

  it('gives a new party the next turn but one', () => {
    const queue = queueWith(['a/x/1', 'a/x/2', 'a/x/3'])
    queue.next()
    queue.add('b/x/1', 9)
    expect(takeAll(queue)).to.deep.equal(['a/x/2', 'b/x/1', 'a/x/3'])
  })

  it('removes a key whose party has changed', () => {
    let party = 'a'
    const queue = new FairKeyQueue(() => ({ party, queue: '' }))
    queue.add('key', 5)
    party = ''
    queue.add('key', 6)
    expect(queue.depth).to.equal(1)
    expect(queue.remove('key')).to.equal(5)
    expect([queue.depth, queue.oldest, queue.depths.size]).to.deep.equal([0, Number.POSITIVE_INFINITY, 0])
  })

  it('returns the number of waiting keys per party', () => {
    const queue = queueWith(['a/1/x', 'a/2/x', 'b/1/x'])
    expect([...queue.depths]).to.deep.equal([
      ['a', 2],
      ['b', 1],
    ])
  })
})
