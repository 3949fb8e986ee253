import { expect } from 'chai'
import { firstDifference } from './compare.ts'

describe('firstDifference', () => {
  const alike: [string, unknown, unknown][] = [
    ['the same', { a: 1 }, { a: 1 }],
    ['fields that the server added', { a: 1 }, { a: 1, b: 2 }],
    ['equal quantities in other units', { cpu: '1000m', memory: '1Gi' }, { cpu: '1', memory: '1024Mi' }],
    ['a quantity as a number', { cpu: 1 }, { cpu: '1' }],
    ['null and absent', { a: null }, {}],
    ['undefined and absent', { a: undefined }, {}],
    ['an empty object and absent', { emptyDir: {} }, {}],
    ['false and absent', { hostNetwork: false }, {}],
    ['an empty list and absent', { args: [] }, {}],
    ['named items in another order', [{ name: 'a' }, { name: 'b' }], [{ name: 'b' }, { name: 'a' }]],
    ['an additional named item', { containers: [{ name: 'a' }] }, { containers: [{ name: 'a' }, { name: 'sidecar' }] }],
    ['a port without the default protocol', [{ containerPort: 80 }], [{ containerPort: 80, protocol: 'TCP' }]],
  ]
  for (const [what, desired, observed] of alike) {
    it(`finds no difference: ${what}`, () => {
      expect(firstDifference(desired, observed)).to.equal(undefined)
    })
  }

  const unlike: [string, unknown, unknown, string][] = [
    ['another value', { spec: { a: 1 } }, { spec: { a: 2 } }, 'spec.a'],
    ['a missing field', { spec: { a: 1 } }, { spec: {} }, 'spec.a'],
    ['another quantity', { cpu: '1' }, { cpu: '2' }, 'cpu'],
    ['a quantity and a word', { cpu: '1' }, { cpu: 'one' }, 'cpu'],
    ['true and absent', { suspend: true }, {}, 'suspend'],
    ['zero replicas and one', { replicas: 0 }, { replicas: 1 }, 'replicas'],
    ['a list that should be empty', { args: [] }, { args: ['x'] }, 'args'],
    ['a changed named item', [{ name: 'a', image: '1' }], [{ name: 'a', image: '2' }], '[a].image'],
    ['a missing named item', { c: [{ name: 'a' }, { name: 'b', x: 1 }] }, { c: [{ name: 'a' }] }, 'c[b]'],
    ['plain lists in another order', { args: ['a', 'b'] }, { args: ['b', 'a'] }, 'args[0]'],
    ['a longer list', { args: ['a'] }, { args: ['a', 'b'] }, 'args'],
    ['a list and an object', { a: [] as unknown[] }, { a: { b: 1 } }, 'a'],
    [
      'two ports with the same number',
      [{ port: 53, protocol: 'UDP', x: 1 }],
      [{ port: 53, protocol: 'TCP', x: 1 }],
      '[53/UDP]',
    ],
  ]
  for (const [what, desired, observed, path] of unlike) {
    it(`returns the path of the difference: ${what}`, () => {
      expect(firstDifference(desired, observed)).to.equal(path)
    })
  }
})
