import { expect } from 'chai'
import { EXIT, mapOrFailTogether, usage } from './failure.ts'

describe('refusals of several things', () => {
  const even = (one: number) => {
    if (one % 2 === 1) throw usage(`${one} is odd.`)
    return one / 2
  }

  it('are told all at once', () =>
    expect(() => mapOrFailTogether([1, 2, 3], even))
      .to.throw('1 is odd.\n3 is odd.')
      .with.property('exitCode', EXIT.usage))

  it('are none where all can be made', () => expect(mapOrFailTogether([2, 4], even)).to.deep.equal([1, 2]))

  it('leave faults of the program as they are', () =>
    expect(() => mapOrFailTogether([1], () => JSON.parse('{'))).to.throw(SyntaxError))
})
