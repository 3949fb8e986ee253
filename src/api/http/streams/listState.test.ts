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

describe('what a reader of a list is told', () => {
  const cases: { what: string; before: ListEntry[]; after: ListEntry[]; said: string[] }[] = [
    { what: 'what is there comes first', before: [], after: [A, B], said: ['added {"id":"a"}', 'added {"id":"b"}'] },
    { what: 'what is as it was is not said again', before: [A, B], after: [A, B], said: [] },
    { what: 'another order changes nothing', before: [A, B], after: [B, A], said: [] },
    { what: 'what comes is added', before: [A], after: [A, C], said: ['added {"id":"c"}'] },
    {
      what: 'what changes is said whole',
      before: [A, B],
      after: [A, CHANGED],
      said: ['modified {"id":"b","status":"Running"}'],
    },
    {
      what: 'what goes is said by its id and its name',
      before: [A, B],
      after: [B],
      said: ['deleted {"id":"a","name":"name of a"}'],
    },
    {
      what: 'what goes is said before what comes, so that a name is never there twice',
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

describe('the name of a state', () => {
  const nameOf = (...steps: ListEntry[][]) => {
    const state = new ListState()
    for (const entries of steps) state.changesTo(entries)
    return state.name
  }

  it('is the same for equal lists, however they came about', () => {
    expect(nameOf([B, A])).to.equal(nameOf([A, B]))
    expect(nameOf([A, C], [CHANGED], [A, B])).to.equal(nameOf([A, B]))
  })

  it('is another one for every other list', () => {
    const lists = [[], [A], [B], [A, B], [A, CHANGED], [A, B, C]]
    expect(new Set(lists.map((list) => nameOf(list))).size).to.equal(lists.length)
  })

  it('stands at each change, as the list is after it', () => {
    const state = new ListState()
    const [first, second] = state.changesTo([A, B])
    expect([first?.state, second?.state]).to.deep.equal([nameOf([A]), nameOf([A, B])])
  })
})
