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

describe('listForeignFields', () => {
  const cases: [what: string, entries: ManagedFields[] | undefined, expected: string[]][] = [
    ['returns nothing without managed fields', undefined, []],
    ['ignores Helm and Flux', [entry('helm-controller', REPLICAS), entry('flux', REPLICAS)], []],
    ['ignores the platform', [entry('freehold-controllers', REPLICAS)], []],
    ['ignores Kubernetes controllers', [entry('kube-controller-manager', REPLICAS), entry('kubelet', REPLICAS)], []],
    [
      'ignores the status',
      [entry('somebody', { 'f:status': { 'f:x': {} } }), entry('other', { 'f:x': {} }, { subresource: 'status' })],
      [],
    ],
    ['returns fields that a user changed', [entry('kubectl-edit', REPLICAS)], ['spec.replicas of kubectl-edit']],
    [
      "ignores kubectl's last-applied-configuration",
      [
        entry('kubectl-client-side-apply', {
          'f:metadata': { 'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} } },
        }),
      ],
      [],
    ],
    [
      'returns paths with list items and keys with dots',
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
    ['returns each field once', [entry('a', REPLICAS), entry('b', REPLICAS)], ['spec.replicas of a']],
  ]
  for (const [what, entries, expected] of cases)
    it(what, () =>
      expect(listForeignFields(entries).map(({ field, manager }) => `${field} of ${manager}`)).to.deep.equal(expected),
    )
})

describe('valueAtFieldPath and formatDriftValue', () => {
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
    it(`return ${JSON.stringify(expected)} at ${field}`, () =>
      expect(valueAtFieldPath(object, field)).to.deep.equal(expected))

  it('return a digest of a secret value', () => {
    expect(formatDriftValue('s3cret', true)).to.equal(driftValueDigest('"s3cret"'))
    expect(formatDriftValue('s3cret', false)).to.equal('"s3cret"')
    expect(formatDriftValue(undefined, true)).to.equal(undefined)
  })
})

describe('isSameDrift and configKeysOf', () => {
  const drift = (field: string) => ({ component: 'a', kind: 'Deployment', namespace: 'b', name: 'c', field })
  it('compare fields in any order', () => {
    expect(isSameDrift([drift('x'), drift('y')], [drift('y'), drift('x')])).to.equal(true)
    expect(isSameDrift([drift('x')], [drift('x'), drift('y')])).to.equal(false)
    expect(isSameDrift([drift('x')], [drift('y')])).to.equal(false)
  })

  it('read the config keys of the annotation, and none if it is malformed', () => {
    const withText = (text: string) => ({
      metadata: { name: 'x', annotations: { 'lifecycle.freehold.dev/config-keys': text } },
    })
    expect(configKeysOf(withText('{"spec.replicas":"replicas","spec.x":3}'))).to.deep.equal({
      'spec.replicas': 'replicas',
    })
    for (const text of ['', '[]', 'null', '{', '3']) expect(configKeysOf(withText(text))).to.deep.equal({})
  })
})
