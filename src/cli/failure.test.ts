import { expect } from 'chai'
import { EXIT, mapOrFailTogether, usage } from './failure.ts'

describe('mapOrFailTogether', () => {
  const even = (one: number) => {
    if (one % 2 === 1) throw usage(`${one} is odd.`)
    return one / 2
  }

  it('throws all usage errors as one', () =>
    expect(() => mapOrFailTogether([1, 2, 3], even))
      .to.throw('1 is odd.\n3 is odd.')
      .with.property('exitCode', EXIT.usage))

  it('returns all results if none fails', () => expect(mapOrFailTogether([2, 4], even)).to.deep.equal([1, 2]))

  it('rethrows an error that is not a usage error', () =>
    expect(() => mapOrFailTogether([1], () => JSON.parse('{'))).to.throw(SyntaxError))
})
