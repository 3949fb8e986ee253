import { expect } from 'chai'
import { firstDifference } from './compare.ts'

describe('comparison of desired and observed', () => {
  const alike: [string, unknown, unknown][] = [
    ['the same', { a: 1 }, { a: 1 }],
    ['fields that the server added', { a: 1 }, { a: 1, b: 2 }],
    ['quantities of the same amount', { cpu: '1000m', memory: '1Gi' }, { cpu: '1', memory: '1024Mi' }],
    ['a quantity written as a number', { cpu: 1 }, { cpu: '1' }],
    ['null and absent', { a: null }, {}],
    ['undefined and absent', { a: undefined }, {}],
    ['an empty object and absent', { emptyDir: {} }, {}],
    ['false and absent', { hostNetwork: false }, {}],
    ['an empty list and absent', { args: [] }, {}],
    ['named things in another order', [{ name: 'a' }, { name: 'b' }], [{ name: 'b' }, { name: 'a' }]],
    [
      'a named thing that another added',
      { containers: [{ name: 'a' }] },
      { containers: [{ name: 'a' }, { name: 'sidecar' }] },
    ],
    ['a port without the default protocol', [{ containerPort: 80 }], [{ containerPort: 80, protocol: 'TCP' }]],
  ]
  for (const [what, desired, observed] of alike) {
    it(`finds no difference between ${what}`, () => {
      expect(firstDifference(desired, observed)).to.equal(undefined)
    })
  }

  const unlike: [string, unknown, unknown, string][] = [
    ['another value', { spec: { a: 1 } }, { spec: { a: 2 } }, 'spec.a'],
    ['a missing field', { spec: { a: 1 } }, { spec: {} }, 'spec.a'],
    ['another amount', { cpu: '1' }, { cpu: '2' }, 'cpu'],
    ['an amount and a word', { cpu: '1' }, { cpu: 'one' }, 'cpu'],
    ['true and absent', { suspend: true }, {}, 'suspend'],
    ['no replicas and one', { replicas: 0 }, { replicas: 1 }, 'replicas'],
    ['an emptied list', { args: [] }, { args: ['x'] }, 'args'],
    ['a changed named thing', [{ name: 'a', image: '1' }], [{ name: 'a', image: '2' }], '[a].image'],
    ['a missing named thing', { c: [{ name: 'a' }, { name: 'b', x: 1 }] }, { c: [{ name: 'a' }] }, 'c[b]'],
    ['plain lists in another order', { args: ['a', 'b'] }, { args: ['b', 'a'] }, 'args[0]'],
    ['a list that grew', { args: ['a'] }, { args: ['a', 'b'] }, 'args'],
    ['a list and a record', { a: [] as unknown[] }, { a: { b: 1 } }, 'a'],
    [
      'two ports of one number',
      [{ port: 53, protocol: 'UDP', x: 1 }],
      [{ port: 53, protocol: 'TCP', x: 1 }],
      '[53/UDP]',
    ],
  ]
  for (const [what, desired, observed, path] of unlike) {
    it(`finds the place of ${what}`, () => {
      expect(firstDifference(desired, observed)).to.equal(path)
    })
  }
})
