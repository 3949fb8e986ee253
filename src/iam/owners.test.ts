import { expect } from 'chai'
import { coversTenures, mayRemoveRoles, type Tenure } from './owners.ts'

const [NOW, EVER] = [100, Number.POSITIVE_INFINITY]
const held = (until = EVER, from = NOW): Tenure => ({ from, until })

describe('mayRemoveRoles', () => {
  const judged: [string, staying: Tenure[], going: Tenure[], isLast: boolean][] = [
    ['the only owner', [], [held()], true],
    ['one of two owners', [held()], [held()], false],
    ['both owners', [], [held(), held()], true],
    ['an owner if the other expires later', [held(200)], [held()], true],
    ['an owner who expires when the other does', [held(200)], [held(200)], false],
    ['an expired owner', [], [held(50)], false],
    ['an owner who expires now', [], [held(NOW)], false],
    ['an owner who expires when the other becomes effective', [held(EVER, 150)], [held(150)], false],
    ['an owner if the other has expired', [held(50)], [held()], true],
    ['an owner if the other is never effective', [held(EVER, EVER)], [held()], true],
    ['nobody', [held()], [], false],
    ['an owner if the other is not effective yet', [held(EVER, 150)], [held()], true],
    ['an owner who expires after the other becomes effective', [held(EVER, 150)], [held(200)], false],
    ['an owner who expires before the other becomes effective', [held(EVER, 250)], [held(200)], true],
    ['an owner who expires after the other', [held(150)], [held(200)], true],
    ['the only owner, who expires', [], [held(200)], true],
  ]
  for (const [title, staying, going, isLast] of judged) {
    it(`${isLast ? 'rejects' : 'accepts'} the removal of ${title}`, () =>
      expect(mayRemoveRoles(staying, going)).to.equal(!isLast))
  }
})

describe('coversTenures', () => {
  const judged: [string, after: Tenure[], before: Tenure[], isKept: boolean][] = [
    ['there was no owner before', [], [], true],
    ['the owner is effective only later', [held(EVER, 150)], [held()], false],
    ['another owner is effective until the next one is', [held(150), held(EVER, 150)], [held()], true],
    ['so it is, in any order', [held(EVER, 150), held(150)], [held()], true],
    ['each of two periods is held', [held(120), held(140, 130), held(200, 150)], [held(120), held(190, 150)], true],
    ['one of two periods is not held to its end', [held(120), held(180, 150)], [held(120), held(190, 150)], false],
    ['the next owner is effective a moment after the other expires', [held(149), held(EVER, 150)], [held()], false],
    ['the owner expires earlier than before', [held(150)], [held(200)], false],
    ['the owner never expires, unlike before', [held()], [held(200), held(150)], true],
  ]
  for (const [title, after, before, isKept] of judged) {
    it(`is ${isKept} if ${title}`, () => expect(coversTenures(after, before)).to.equal(isKept))
  }

  it('reads each tenure a few times, not once for each other one', () => {
    let reads = 0
    const tenures = Array.from({ length: 500 }, (_, index) => ({
      get from() {
        reads += 1
        return NOW + index
      },
      until: EVER,
    }))
    expect(coversTenures(tenures, tenures)).to.equal(true)
    expect(reads).to.be.lessThan(50 * tenures.length)
  })
})
