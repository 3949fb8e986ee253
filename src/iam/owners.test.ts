import { expect } from 'chai'
import { coversTenures, mayRemoveRole, type Tenure } from './owners.ts'

const [NOW, EVER] = [100, Number.POSITIVE_INFINITY]
const held = (until = EVER, from = NOW): Tenure => ({ from, until })

describe('the last owner', () => {
  const judged: [string, staying: Tenure[], going: Tenure[], isLast: boolean][] = [
    ['the only one goes', [], [held()], true],
    ['one of two goes', [held()], [held()], false],
    ['both go', [], [held(), held()], true],
    ['one goes and the other ends later', [held(200)], [held()], true],
    ['one that ends later goes', [held(200)], [held(200)], false],
    ['one that has ended goes', [], [held(50)], false],
    ['one goes and the other has ended', [held(50)], [held()], true],
    ['one goes and the other can do nothing', [held(EVER, EVER)], [held()], true],
    ['none goes', [held()], [], false],
    ['one goes and the other can do nothing yet', [held(EVER, 150)], [held()], true],
    ['one that ends goes and the other can do nothing until earlier', [held(EVER, 150)], [held(200)], false],
    ['one that ends goes and the other can do nothing until later', [held(EVER, 250)], [held(200)], true],
    ['one that ends goes and the other ends before', [held(150)], [held(200)], true],
    ['the only one goes, and ends', [], [held(200)], true],
  ]
  for (const [title, staying, going, isLast] of judged) {
    it(`${isLast ? 'is' : 'is not'} taken away where ${title}`, () =>
      expect(going.every((role) => mayRemoveRole(staying, role))).to.equal(!isLast))
  }
})

describe('that somebody governs', () => {
  const judged: [string, after: Tenure[], before: Tenure[], isKept: boolean][] = [
    ['nobody did', [], [], true],
    ['one does later', [held(EVER, 150)], [held()], false],
    ['another does until then', [held(150), held(EVER, 150)], [held()], true],
    ['another does until shortly before', [held(149), held(EVER, 150)], [held()], false],
    ['nobody does who did for a while', [held(150)], [held(200)], false],
    ['somebody does for longer', [held()], [held(200), held(150)], true],
  ]
  for (const [title, after, before, isKept] of judged) {
    it(`${isKept ? 'is' : 'is not'} kept where ${title}`, () => expect(coversTenures(after, before)).to.equal(isKept))
  }
})
