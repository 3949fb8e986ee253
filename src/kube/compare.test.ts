import { expect } from 'chai'
import { firstDifference } from './compare.ts'

const limits = (cpu: unknown, memory: unknown) => ({ resources: { limits: { cpu, memory } } })
const ENV = { env: [{ name: 'V', value: '1.1' }] }

describe('firstDifference', () => {
  const alike: [string, unknown, unknown][] = [
    ['the same', { a: 1 }, { a: 1 }],
    ['fields that the server added', { a: 1 }, { a: 1, b: 2 }],
    ['equal quantities in other units', limits('1000m', '1Gi'), limits('1', '1024Mi')],
    ['a quantity as a number', limits(1, 0), limits('1', '0')],
    ['null and absent', { a: null }, {}],
    ['undefined and absent', { a: undefined }, {}],
    ['an empty object and absent', { emptyDir: {} }, {}],
    ['false and absent', { hostNetwork: false }, {}],
    ['an empty list and absent', { args: [] }, {}],
    ['named items in another order', [{ name: 'a' }, { name: 'b' }], [{ name: 'b' }, { name: 'a' }]],
    ['an additional named item', { containers: [{ name: 'a' }] }, { containers: [{ name: 'a' }, { name: 'sidecar' }] }],
    ...['uid', 'mountPath', 'topologyKey', 'type', 'ip'].map((key): [string, unknown, unknown] => [
      `items with ${key} in another order`,
      [{ [key]: 'a' }, { [key]: 'b' }],
      [{ [key]: 'b' }, { [key]: 'a' }],
    ]),
    ['null and a value', { a: null }, { a: 1 }],
    ['values that are not stored, and null', { a: 0, b: '', c: [], d: { e: null } }, { a: null, b: null }],
    ['the size limit of a volume', { emptyDir: { sizeLimit: '1024Mi' } }, { emptyDir: { sizeLimit: '1Gi' } }],
    ['an amount of a quota', { hard: { 'requests.cpu': '1500m' } }, { hard: { 'requests.cpu': '1.5' } }],
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
    ['another quantity', limits('1', '1Gi'), limits('1', '1G'), 'resources.limits.memory'],
    ['a quantity and a word', limits('1', '1Gi'), limits('one', '1Gi'), 'resources.limits.cpu'],
    ['texts that would be the same amount', { env: [{ name: 'V', value: '1.10' }] }, ENV, 'env[V].value'],
    ['true and absent', { suspend: true }, {}, 'suspend'],
    ['zero replicas and one', { replicas: 0 }, { replicas: 1 }, 'replicas'],
    ['a list that should be empty', { args: [] }, { args: ['x'] }, 'args'],
    ['a changed named item', [{ name: 'a', image: '1' }], [{ name: 'a', image: '2' }], '[a].image'],
    ['a missing named item', { c: [{ name: 'a' }, { name: 'b', x: 1 }] }, { c: [{ name: 'a' }] }, 'c[b]'],
    ['plain lists in another order', { args: ['a', 'b'] }, { args: ['b', 'a'] }, 'args[0]'],
    ['a longer list', { args: ['a'] }, { args: ['a', 'b'] }, 'args'],
    ['a list of named items that should be empty', { ports: [] }, { ports: [{ name: 'a' }] }, 'ports'],
    ['an unnamed item in another place', [{ name: 'a' }, { x: 2 }], [{ x: 2 }, { name: 'a' }], '[0].name'],
    [
      'items of one name in another order',
      [{ name: 'a', x: 1 }, { name: 'a' }],
      [{ name: 'a' }, { name: 'a', x: 1 }],
      '[0].x',
    ],
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
