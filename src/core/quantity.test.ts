import { expect } from 'chai'
import { formatCores, parseForeignQuantity, parseQuantity } from './quantity.ts'

describe('quantities', () => {
  const thousandths: [string, string, bigint][] = [
    ['thousandths are exact', '1500m', 1500n],
    ['whole units count a thousand each', '2', 2000n],
    ['a fraction is rounded up, as Kubernetes does', '0.0001', 1n],
    ['binary units', '1Ki', 1_024_000n],
    ['what metrics-server measures of processors, in billionths', '104738273n', 105n],
    ['or in millionths', '2500u', 3n],
  ]
  for (const [sentence, text, expected] of thousandths)
    it(`${sentence}: ${text}`, () => void expect(parseQuantity(text)).to.equal(expected))

  it('are refused where they are none', () => {
    for (const text of ['', '1x', 'm', '-1', '1e3']) expect(() => parseQuantity(text), text).to.throw(RangeError)
  })

  it('of another system are nothing where they are none', () => {
    const told = [undefined, '', 'much', '-1', '9'.repeat(100_000), '104738273n']
    expect(told.map((text) => formatCores(parseForeignQuantity(text)))).to.deep.equal(['0', '0', '0', '0', '0', '105m'])
  })
})
