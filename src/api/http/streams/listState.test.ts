import { expect } from 'chai'
import { type ListEntry, ListState } from './listState.ts'

const entry = (id: string, more: object = {}): ListEntry => ({
  id,
  name: `name of ${id}`,
  text: JSON.stringify({ id, ...more }),
})
const [A, B, C] = [entry('a'), entry('b'), entry('c')]
const CHANGED = entry('b', { status: 'Running' })

const told = (state: ListState, entries: readonly ListEntry[]) =>
  state.changesTo(entries).map(({ type, text }) => `${type} ${text}`)

describe('ListState.changesTo', () => {
  const cases: { what: string; before: ListEntry[]; after: ListEntry[]; said: string[] }[] = [
    {
      what: 'reports all entries as added at first',
      before: [],
      after: [A, B],
      said: ['added {"id":"a"}', 'added {"id":"b"}'],
    },
    { what: 'reports no unchanged entry', before: [A, B], after: [A, B], said: [] },
    { what: 'ignores the order', before: [A, B], after: [B, A], said: [] },
    { what: 'reports a new entry as added', before: [A], after: [A, C], said: ['added {"id":"c"}'] },
    {
      what: 'reports a changed entry as modified, with its full text',
      before: [A, B],
      after: [A, CHANGED],
      said: ['modified {"id":"b","status":"Running"}'],
    },
    {
      what: 'reports a removed entry as deleted, with id and name',
      before: [A, B],
      after: [B],
      said: ['deleted {"id":"a","name":"name of a"}'],
    },
    {
      what: 'reports deletions before additions, so that a name never occurs twice',
      before: [A],
      after: [B],
      said: ['deleted {"id":"a","name":"name of a"}', 'added {"id":"b"}'],
    },
  ]
  for (const { what, before, after, said } of cases) {
    it(what, () => {
      const state = new ListState()
      state.changesTo(before)
      expect(told(state, after)).to.deep.equal(said)
      expect(told(state, after), 'once more').to.deep.equal([])
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
