import { expect } from 'chai'
import { deriveCollections } from '../collections.ts'
import { nameOf } from './deploy.ts'
import { describeVariableChanges, parseReference, rowOf, withoutVariables, withVariables } from './deployed.ts'

describe('nameOf', () => {
  const cases: [string, string | undefined][] = [
    ['/home/ada/shop', 'shop'],
    ['/home/ada/My Shop_2', 'my-shop-2'],
    ['/home/ada/--shop--', 'shop'],
    ['/', undefined],
    ['/home/ada/2026', undefined],
  ]
  for (const [folder, expected] of cases) {
    it(`returns ${expected ?? 'no name'} for ${folder}`, () => {
      if (expected === undefined) expect(() => nameOf(folder)).to.throw('--name')
      else expect(nameOf(folder)).to.equal(expected)
    })
  }
})

describe('withVariables', () => {
  const before = [
    { name: 'COLOUR', value: 'red' },
    { name: 'KEY', secret: { vaultName: 'v', secretName: 's' } },
  ]
  it('replaces a variable in its place, appends a new one and keeps the others', () => {
    expect(withVariables(before, ['SIZE=2', 'COLOUR=a=b'])).to.deep.equal([
      { name: 'COLOUR', value: 'a=b' },
      before[1],
      { name: 'SIZE', value: '2' },
    ])
  })
  it('rejects a variable without a value or without a name', () => {
    expect(() => withVariables(before, ['COLOUR'])).to.throw('NAME=VALUE')
    expect(() => withVariables(before, ['=x'])).to.throw('NAME=VALUE')
  })
})

describe('parseReference and withVariables', () => {
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
    it(`${expected instanceof RegExp ? 'reject' : 'parse'} ${word}`, () => {
      if (expected instanceof RegExp) expect(() => parseReference(word, collections)).to.throw(expected)
      else expect(parseReference(word, collections)).to.deep.equal(expected)
    })
  }

  it('replace a plain value with a reference', () => {
    const reference = { name: 'COLOUR', secret: { vaultName: 'v', secretName: 's' } }
    expect(withVariables([{ name: 'COLOUR', value: 'red' }], [], [reference])).to.deep.equal([reference])
  })
})

describe('rowOf, describeVariableChanges and withoutVariables', () => {
  const SECRET = { name: 'T', secret: { vaultName: 'safe', secretName: 'Token' } }
  const OUTPUT = { name: 'U', output: { collection: 'relationalclusters', name: 'orders', output: 'host' } }
  const PLAIN = { name: 'A', value: '1' }

  it('show where a value comes from', () => {
    expect([SECRET, OUTPUT, PLAIN].map((one) => rowOf(one).value)).to.deep.equal([
      'from secretvaults/safe/Token',
      'from relationalclusters/orders/host',
      '1',
    ])
  })

  it('name the variables that change', () => {
    expect(describeVariableChanges([PLAIN, SECRET], [{ name: 'A', value: '2' }, OUTPUT])).to.deep.equal([
      'set A',
      'set U',
      'unset T',
    ])
    expect(describeVariableChanges([PLAIN, SECRET], [{ ...PLAIN }, SECRET])).to.deep.equal([])
  })

  it('reject the removal of an unknown variable', () => {
    expect(withoutVariables([PLAIN, SECRET], ['A'], 'app shop')).to.deep.equal([SECRET])
    expect(() => withoutVariables([{ name: 'COLOUR', value: '' }], ['COLOR'], 'app shop')).to.throw(
      'app shop has no variable "COLOR"; did you mean "COLOUR"?',
    )
  })
})
