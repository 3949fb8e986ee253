import { expect } from 'chai'
import { formatCores, parseForeignQuantity, parseQuantity } from './quantity.ts'

describe('parseQuantity and parseForeignQuantity', () => {
  const thousandths: [string, string, bigint][] = [
    ['thousandths', '1500m', 1500n],
    ['whole units', '2', 2000n],
    ['fractions, rounded up as in Kubernetes', '0.0001', 1n],
    ['binary units', '1Ki', 1_024_000n],
    ['billionths, as from metrics-server', '104738273n', 105n],
    ['millionths', '2500u', 3n],
  ]
  for (const [sentence, text, expected] of thousandths)
    it(`parse ${sentence}: ${text}`, () => void expect(parseQuantity(text)).to.equal(expected))

  it('reject invalid quantities', () => {
    for (const text of ['', '1x', 'm', '-1', '1e3']) expect(() => parseQuantity(text), text).to.throw(RangeError)
  })

  it('return 0 for invalid quantities of another system', () => {
    const texts = [undefined, '', 'much', '-1', '9'.repeat(100_000), '104738273n']
    expect(texts.map((text) => formatCores(parseForeignQuantity(text)))).to.deep.equal([
      '0',
      '0',
      '0',
      '0',
      '0',
      '105m',
    ])
  })
})
