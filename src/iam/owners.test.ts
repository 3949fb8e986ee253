import { expect } from 'chai'
import { leavesNoOwner, type OwnerAssignment } from './owners.ts'

describe('the last owner', () => {
  const owner = (id: string, expiresAt?: number): OwnerAssignment => ({ id, principalId: id, expiresAt })
  const judged: [string, OwnerAssignment[], string[], boolean][] = [
    ['the only one goes', [owner('a')], ['a'], true],
    ['one of two goes', [owner('a'), owner('b')], ['a'], false],
    ['both go', [owner('a'), owner('b')], ['a', 'b'], true],
    ['one goes and the other ends later', [owner('a'), owner('b', 200)], ['a'], true],
    ['one that ends later goes', [owner('a', 200), owner('b', 200)], ['a'], false],
    ['one that has ended goes', [owner('a', 50)], ['a'], false],
    ['one goes and the other has ended', [owner('a'), owner('b', 50)], ['a'], true],
    ['one goes and the other can do nothing', [owner('a'), owner('gone')], ['a'], true],
    ['none goes', [owner('a')], [], false],
  ]
  for (const [title, owners, removed, expected] of judged) {
    it(`${expected ? 'is' : 'is not'} taken away where ${title}`, () =>
      expect(leavesNoOwner(owners, new Set(removed), 100, (id) => id !== 'gone')).to.equal(expected))
  }
})
