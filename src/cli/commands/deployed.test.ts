import { expect } from 'chai'
import { deriveCollections } from '../collections.ts'
import { nameOf } from './deploy.ts'
import { describeVariableChanges, parseReference, rowOf, withoutVariables, withVariables } from './deployed.ts'

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

describe('variables that refer to something', () => {
  const collections = deriveCollections()
  const cases: [string, object | RegExp][] = [
    [
      'URL=relationalcluster/orders/connectionString',
      { name: 'URL', output: { collection: 'relationalclusters', name: 'orders', output: 'connectionString' } },
    ],
    [
      'KEY=vc/products/apiKey',
      { name: 'KEY', output: { collection: 'vectorclusters', name: 'products', output: 'apiKey' } },
    ],
    ['TOKEN=secretvaults/shop/Token', { name: 'TOKEN', secret: { vaultName: 'shop', secretName: 'Token' } }],
    ['URL=relationalcluster/orders/address', /no output "address": there are host/],
    ['URL=job/report/log', /jobs have no outputs/],
    ['URL=nothing/a/b', /no kind "nothing"/],
    ['URL=orders', /NAME=KIND\/NAME\/WHAT/],
  ]
  for (const [word, expected] of cases) {
    it(`${word} ${expected instanceof RegExp ? 'is refused' : 'is understood'}`, () => {
      if (expected instanceof RegExp) expect(() => parseReference(word, collections)).to.throw(expected)
      else expect(parseReference(word, collections)).to.deep.equal(expected)
    })
  }

  it('take the place of a plain value', () => {
    const reference = { name: 'COLOUR', secret: { vaultName: 'v', secretName: 's' } }
    expect(withVariables([{ name: 'COLOUR', value: 'red' }], [], [reference])).to.deep.equal([reference])
  })
})

describe('variables that are shown', () => {
  const SECRET = { name: 'T', secret: { vaultName: 'safe', secretName: 'Token' } }
  const OUTPUT = { name: 'U', output: { collection: 'relationalclusters', name: 'orders', output: 'host' } }
  const PLAIN = { name: 'A', value: '1' }

  it('say where their value comes from', () => {
    expect([SECRET, OUTPUT, PLAIN].map((one) => rowOf(one).value)).to.deep.equal([
      'from secretvaults/safe/Token',
      'from relationalclusters/orders/host',
      '1',
    ])
  })

  it('are told by name when they change', () => {
    expect(describeVariableChanges([PLAIN, SECRET], [{ name: 'A', value: '2' }, OUTPUT])).to.deep.equal([
      'set A',
      'set U',
      'unset T',
    ])
    expect(describeVariableChanges([PLAIN, SECRET], [{ ...PLAIN }, SECRET])).to.deep.equal([])
  })

  it('are not taken away by a mistyped name', () => {
    expect(withoutVariables([PLAIN, SECRET], ['A'], 'app shop')).to.deep.equal([SECRET])
    expect(() => withoutVariables([{ name: 'COLOUR', value: '' }], ['COLOR'], 'app shop')).to.throw(
      'app shop has no variable "COLOR"; did you mean "COLOUR"?',
    )
  })
})
