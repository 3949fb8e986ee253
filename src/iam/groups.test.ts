import { expect } from 'chai'
import { expandMembers, groupsContaining, nestingViolationOf } from './groups.ts'

describe('nested groups', () => {
  const chain = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['d']],
    ['d', ['anna']],
  ])
  it('are expanded to all members by expandMembers', () =>
    expect([...expandMembers('b', chain)]).to.deep.equal(['b', 'c', 'd', 'anna']))
  it('are found from a member by groupsContaining', () =>
    expect([...groupsContaining('anna', chain)]).to.deep.equal(['d', 'c', 'b', 'a']))
  it('are expanded once if they contain each other', () =>
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
    ['a group that contains four nested ones', 'new', ['a'], undefined],
    ['a group that contains itself', 'a', ['a'], 'Cycle'],
    ['a cycle of four groups', 'd', ['a'], 'Cycle'],
  ]
  for (const [title, id, members, expected] of nested) {
    it(`have the violation ${expected ?? 'undefined'}: ${title}`, () =>
      expect(nestingViolationOf(id, members, chain)).to.equal(expected))
  }
  it('may have five levels, but not six', () => {
    const five = new Map(chain).set('e', ['a'])
    expect(nestingViolationOf('e', ['a'], chain)).to.equal(undefined)
    expect(nestingViolationOf('f', ['e'], five)).to.equal('TooDeep')
    expect(nestingViolationOf('d', ['f'], new Map(five).set('f', []))).to.equal('TooDeep')
  })
})
