import { expect } from 'chai'
import { type ListEntry, ListState } from './listState.ts'

const entry = (id: string, more: object = {}): ListEntry => ({
  id,
  name: `name of ${id}`,
  text: JSON.stringify({ id, ...more }),
})
const [A, B, C] = [entry('a'), entry('b'), entry('c')]
const CHANGED = entry('b', { status: 'Running' })

const changesOf = (state: ListState, entries: readonly ListEntry[]) =>
  state.changesTo(entries).map(({ type, text }) => `${type} ${text}`)

describe('ListState.changesTo', () => {
  const cases: { title: string; before: ListEntry[]; after: ListEntry[]; expected: string[] }[] = [
    {
      title: 'reports all entries as added at first',
      before: [],
      after: [A, B],
      expected: ['added {"id":"a"}', 'added {"id":"b"}'],
    },
    { title: 'reports no unchanged entry', before: [A, B], after: [A, B], expected: [] },
    { title: 'ignores the order', before: [A, B], after: [B, A], expected: [] },
    { title: 'reports a new entry as added', before: [A], after: [A, C], expected: ['added {"id":"c"}'] },
    {
      title: 'reports a changed entry as modified, with its full text',
      before: [A, B],
      after: [A, CHANGED],
      expected: ['modified {"id":"b","status":"Running"}'],
    },
    {
      title: 'reports a removed entry as deleted, with id and name',
      before: [A, B],
      after: [B],
      expected: ['deleted {"id":"a","name":"name of a"}'],
    },
    {
      title: 'reports deletions before additions, so that a name never occurs twice',
      before: [A],
      after: [B],
      expected: ['deleted {"id":"a","name":"name of a"}', 'added {"id":"b"}'],
    },
  ]
  for (const { title, before, after, expected } of cases) {
    it(title, () => {
      const state = new ListState()
      state.changesTo(before)
      expect(changesOf(state, after)).to.deep.equal(expected)
      expect(changesOf(state, after), 'once more').to.deep.equal([])
    })
  }
})

describe('ListState.name', () => {
  const nameOf = (...steps: ListEntry[][]) => {
    const state = new ListState()
    for (const entries of steps) state.changesTo(entries)
    return state.name
  }

  it('is equal for equal lists, whatever their history', () => {
    expect(nameOf([B, A])).to.equal(nameOf([A, B]))
    expect(nameOf([A, C], [CHANGED], [A, B])).to.equal(nameOf([A, B]))
  })

  it('differs for different lists', () => {
    const lists = [[], [A], [B], [A, B], [A, CHANGED], [A, B, C]]
    expect(new Set(lists.map((list) => nameOf(list))).size).to.equal(lists.length)
  })

  it('is reported with each change, as of the list after it', () => {
    const state = new ListState()
    const [first, second] = state.changesTo([A, B])
    expect([first?.state, second?.state]).to.deep.equal([nameOf([A]), nameOf([A, B])])
  })
})
