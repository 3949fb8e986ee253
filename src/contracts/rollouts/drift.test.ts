import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import {
  configKeysOf,
  driftValueDigest,
  formatDriftValue,
  isSameDrift,
  listForeignFields,
  type ManagedFields,
  valueAtFieldPath,
} from './drift.ts'

const entry = (manager: string, fieldsV1: object, more: Partial<ManagedFields> = {}): ManagedFields => ({
  ...{ manager, operation: 'Update', fieldsV1 },
  ...more,
})
const REPLICAS = { 'f:spec': { 'f:replicas': {} } }

describe('the fields of an object that somebody else wrote', () => {
  const cases: [what: string, entries: ManagedFields[] | undefined, expected: string[]][] = [
    ['are none where nobody wrote any', undefined, []],
    ['are not those of Helm and Flux', [entry('helm-controller', REPLICAS), entry('flux', REPLICAS)], []],
    ['are not those of the platform', [entry('freehold-controllers', REPLICAS)], []],
    [
      'are not those that Kubernetes keeps',
      [entry('kube-controller-manager', REPLICAS), entry('kubelet', REPLICAS)],
      [],
    ],
    [
      'are not the status',
      [entry('somebody', { 'f:status': { 'f:x': {} } }), entry('other', { 'f:x': {} }, { subresource: 'status' })],
      [],
    ],
    ['are what a person changed', [entry('kubectl-edit', REPLICAS)], ['spec.replicas of kubectl-edit']],
    [
      'are not what kubectl remembers of its own',
      [
        entry('kubectl-client-side-apply', {
          'f:metadata': { 'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} } },
        }),
      ],
      [],
    ],
    [
      'are named with the items of lists and with names that hold dots',
      [
        entry('kubectl', {
          'f:metadata': { 'f:labels': { '.': {}, 'f:example.com/a': {} } },
          'f:spec': { 'f:containers': { 'k:{"name":"web"}': { 'f:image': {} } }, 'f:finalizers': { 'v:"x"': {} } },
        }),
      ],
      [
        'metadata.labels.[example.com/a] of kubectl',
        'spec.containers[{"name":"web"}].image of kubectl',
        'spec.finalizers["x"] of kubectl',
      ],
    ],
    ['are told once', [entry('a', REPLICAS), entry('b', REPLICAS)], ['spec.replicas of a']],
  ]
  for (const [what, entries, expected] of cases)
    it(what, () =>
      expect(listForeignFields(entries).map(({ field, manager }) => `${field} of ${manager}`)).to.deep.equal(expected),
    )
})

describe('the value of a field', () => {
  const object = {
    ...{ apiVersion: 'v1', kind: 'X' },
    metadata: { name: 'x', labels: { 'example.com/a': 'b' } },
    spec: { replicas: 3, containers: [{ name: 'web', image: 'a:1' }], list: ['x', 'y'] },
  } as KubeObject
  const cases: [field: string, expected: unknown][] = [
    ['spec.replicas', 3],
    ['metadata.labels.[example.com/a]', 'b'],
    ['spec.containers[{"name":"web"}].image', 'a:1'],
    ['spec.list["y"]', 'y'],
    ['spec.list["z"]', undefined],
    ['spec.nothing.more', undefined],
    ['spec.replicas.more', undefined],
  ]
  for (const [field, expected] of cases)
    it(`${field} is ${JSON.stringify(expected)}`, () => expect(valueAtFieldPath(object, field)).to.deep.equal(expected))

  it('is a digest of its text where it is secret', () => {
    expect(formatDriftValue('s3cret', true)).to.equal(driftValueDigest('"s3cret"'))
    expect(formatDriftValue('s3cret', false)).to.equal('"s3cret"')
    expect(formatDriftValue(undefined, true)).to.equal(undefined)
  })
})

describe('changes by hand', () => {
  const drift = (field: string) => ({ component: 'a', kind: 'Deployment', namespace: 'b', name: 'c', field })
  it('are the same in any order, and not when one is more or less', () => {
    expect(isSameDrift([drift('x'), drift('y')], [drift('y'), drift('x')])).to.equal(true)
    expect(isSameDrift([drift('x')], [drift('x'), drift('y')])).to.equal(false)
    expect(isSameDrift([drift('x')], [drift('y')])).to.equal(false)
  })

  it('come from the values that the chart names, and from none where it writes nonsense', () => {
    const withText = (text: string) => ({
      metadata: { name: 'x', annotations: { 'lifecycle.freehold.dev/config-keys': text } },
    })
    expect(configKeysOf(withText('{"spec.replicas":"replicas","spec.x":3}'))).to.deep.equal({
      'spec.replicas': 'replicas',
    })
    for (const text of ['', '[]', 'null', '{', '3']) expect(configKeysOf(withText(text))).to.deep.equal({})
  })
})
