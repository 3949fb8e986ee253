import { expect } from 'chai'
import { covers, type Tenure } from './owners.ts'

const NOW = 100
const held = (until = Number.POSITIVE_INFINITY, from = NOW): Tenure => ({ from, until })

describe('the last owner', () => {
  const judged: [string, staying: Tenure[], going: Tenure[], isLast: boolean][] = [
    ['the only one goes', [], [held()], true],
    ['one of two goes', [held()], [held()], false],
    ['both go', [], [held(), held()], true],
    ['one goes and the other ends later', [held(200)], [held()], true],
    ['one that ends later goes', [held(200)], [held(200)], false],
    ['one that has ended goes', [], [held(50)], false],
    ['one goes and the other has ended', [held(50)], [held()], true],
    [
      'one goes and the other can do nothing',
      [held(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)],
      [held()],
      true,
    ],
    ['none goes', [held()], [], false],
    ['one goes before the other can do something', [held(Number.POSITIVE_INFINITY, 150)], [held(200)], true],
    [
      'one goes and a third stays until the other can',
      [held(150), held(Number.POSITIVE_INFINITY, 150)],
      [held()],
      false,
    ],
    ['one goes and between the others nobody can', [held(149), held(Number.POSITIVE_INFINITY, 150)], [held()], true],
    ['one goes whom two follow in turn, not for long enough', [held(150), held(180, 150)], [held(200)], true],
  ]
  for (const [title, staying, going, isLast] of judged) {
    it(`${isLast ? 'is' : 'is not'} taken away where ${title}`, () => expect(covers(staying, going)).to.equal(!isLast))
  }
})
