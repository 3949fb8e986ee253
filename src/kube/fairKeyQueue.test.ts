import { expect } from 'chai'
import { FairKeyQueue } from './fairKeyQueue.ts'

/** Keys are `<party>/<line>/<name>`. */
function linesWith(keys: readonly string[]): FairKeyQueue {
  const lines = new FairKeyQueue((key) => {
    const [party = '', line = ''] = key.split('/')
    return { party, line }
  })
  for (const [at, key] of keys.entries()) lines.add(key, at)
  return lines
}

function taken(lines: FairKeyQueue, mayTake?: (party: string) => boolean): string[] {
  const order: string[] = []
  for (let next = lines.next(mayTake); next !== undefined; next = lines.next(mayTake)) order.push(next.key)
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
      const lines = linesWith(waiting)
      expect(taken(lines)).to.deep.equal(order)
      expect(lines.depth).to.equal(0)
    })

  it('skips a party that is not eligible and keeps its turn', () => {
    const lines = linesWith(['a/x/1', 'a/x/2', 'b/x/1'])
    expect(taken(lines, (party) => party !== 'a')).to.deep.equal(['b/x/1'])
    expect(taken(lines)).to.deep.equal(['a/x/1', 'a/x/2'])
  })

  it('gives a new party the next turn but one', () => {
    const lines = linesWith(['a/x/1', 'a/x/2', 'a/x/3'])
    lines.next()
    lines.add('b/x/1', 9)
    expect(taken(lines)).to.deep.equal(['a/x/2', 'b/x/1', 'a/x/3'])
  })

  it('removes a key whose party has changed', () => {
    let party = 'a'
    const lines = new FairKeyQueue(() => ({ party, line: '' }))
    lines.add('key', 5)
    party = ''
    lines.add('key', 6)
    expect(lines.depth).to.equal(1)
    expect(lines.remove('key')).to.equal(5)
    expect([lines.depth, lines.oldest, lines.depths.size]).to.deep.equal([0, Number.POSITIVE_INFINITY, 0])
  })

  it('returns the number of waiting keys per party', () => {
    const lines = linesWith(['a/1/x', 'a/2/x', 'b/1/x'])
    expect([...lines.depths]).to.deep.equal([
      ['a', 2],
      ['b', 1],
    ])
  })
})
