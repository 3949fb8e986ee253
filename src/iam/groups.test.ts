import { expect } from 'chai'
import { expandMembers, groupsContaining, nestingViolationOf } from './groups.ts'

describe('groups in groups', () => {
  const chain = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['d']],
    ['d', ['anna']],
  ])
  it('hold everybody however deep', () => expect([...expandMembers('b', chain)]).to.deep.equal(['b', 'c', 'd', 'anna']))
  it('are found from within', () => expect([...groupsContaining('anna', chain)]).to.deep.equal(['d', 'c', 'b', 'a']))
  it('end where a loop closes', () =>
    expect([
      ...expandMembers(
        'x',
        new Map([
          ['x', ['y']],
          ['y', ['x']],
        ]),
      ),
    ]).to.deep.equal(['x', 'y']))

  const nested: [string, string, string[], 'Cycle' | 'TooDeep' | undefined][] = [
    ['a group of people', 'new', ['anna', 'bert'], undefined],
    ['a group around four', 'new', ['a'], undefined],
    ['a group in itself', 'a', ['a'], 'Cycle'],
    ['a loop over four', 'd', ['a'], 'Cycle'],
  ]
  for (const [title, id, members, expected] of nested) {
    it(`judges ${title}: ${expected ?? 'fine'}`, () =>
      expect(nestingViolationOf(id, members, chain)).to.equal(expected))
  }
  it('go five deep and no deeper', () => {
    const five = new Map(chain).set('e', ['a'])
    expect(nestingViolationOf('e', ['a'], chain)).to.equal(undefined)
    expect(nestingViolationOf('f', ['e'], five)).to.equal('TooDeep')
    expect(nestingViolationOf('d', ['f'], new Map(five).set('f', []))).to.equal('TooDeep')
  })
})
