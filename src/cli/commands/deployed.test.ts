import { expect } from 'chai'
import { nameOf } from './deploy.ts'
import { withVariables } from './deployed.ts'

describe('names of apps from folders', () => {
  const cases: [string, string | undefined][] = [
    ['/home/ada/shop', 'shop'],
    ['/home/ada/My Shop_2', 'my-shop-2'],
    ['/home/ada/--shop--', 'shop'],
    ['/', undefined],
    ['/home/ada/2026', undefined],
  ]
  for (const [folder, expected] of cases) {
    it(`${folder} is ${expected ?? 'none'}`, () => {
      if (expected === undefined) expect(() => nameOf(folder)).to.throw('--name')
      else expect(nameOf(folder)).to.equal(expected)
    })
  }
})

describe('variables that are set', () => {
  const before = [
    { name: 'COLOUR', value: 'red' },
    { name: 'KEY', secret: { vaultName: 'v', secretName: 's' } },
  ]
  it('keep their place, and others stay as they are', () => {
    expect(withVariables(before, ['SIZE=2', 'COLOUR=a=b'])).to.deep.equal([
      { name: 'COLOUR', value: 'a=b' },
      before[1],
      { name: 'SIZE', value: '2' },
    ])
  })
  it('have a name and a value', () => {
    expect(() => withVariables(before, ['COLOUR'])).to.throw('NAME=VALUE')
    expect(() => withVariables(before, ['=x'])).to.throw('NAME=VALUE')
  })
})
