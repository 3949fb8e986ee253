import { expect } from 'chai'
import { expandMembers, groupsContaining, groupsOfMembers, nestingViolationOf } from './groups.ts'

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
    expect([...groupsContaining('anna', groupsOfMembers(chain))]).to.deep.equal(['d', 'c', 'b', 'a']))
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

  it('are judged without a look through all groups for each one', () => {
    let reads = 0
    const members = Array.from({ length: 200 }, (_, index) => `group-${index}`)
    const groups = new Map(
      members.map((id) => [
        id,
        new Proxy(['new'], {
          get(list, property) {
            if (property === Symbol.iterator || property === 'includes') reads += 1
            return Reflect.get(list, property)
          },
        }),
      ]),
    )
    expect(nestingViolationOf('new', ['anna'], groups)).to.equal(undefined)
    expect(reads).to.be.lessThan(10 * members.length)
  })
})
