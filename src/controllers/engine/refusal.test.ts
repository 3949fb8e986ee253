import { expect } from 'chai'
import { StoreError } from '../../adapters/objectstorage/port.ts'
import { KINDS } from '../../crds/index.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { statefulSet } from '../../kube/builtin.ts'
import { KubeError, type KubeErrorDetail, type KubeErrorReason } from '../../kube/errors.ts'
import { outcomeOfRefusal, REFUSAL_RETRY_MS } from './refusal.ts'

const kubeError = (reason: KubeErrorReason, status: number, detail: Partial<KubeErrorDetail> = {}) =>
  new KubeError(reason, 'Cannot apply.', { status, resource: statefulSet, namespace: 'shop', name: 'vc-x', ...detail })
const invalid = (...fields: string[]) =>
  kubeError('Invalid', 422, { causes: fields.map((field) => ({ field, message: 'Invalid value: "s3cret"' })) })

describe('outcomeOfRefusal', () => {
  const cases: [sentence: string, error: unknown, says: string | undefined][] = [
    [
      'names our field for a path of the API server',
      invalid('spec.volumeClaimTemplates[0].spec.storageClassName'),
      'The API server refuses StatefulSet "shop/vc-x" because of storageClass (spec.volumeClaimTemplates[0].spec.storageClassName). Set another value.',
    ],
    [
      'names storageSize for the size of a volume',
      invalid('spec.volumeClaimTemplates[0].spec.resources[storage]'),
      'The API server refuses StatefulSet "shop/vc-x" because of storageSize (spec.volumeClaimTemplates[0].spec.resources[storage]). Set another value.',
    ],
    [
      'names the path alone if no field of ours matches',
      invalid('spec.template.spec.hostname2'),
      'The API server refuses StatefulSet "shop/vc-x" (spec.template.spec.hostname2). Change the spec.',
    ],
    [
      'includes the message of an admission policy',
      kubeError('Forbidden', 403, { denial: { policy: 'images', message: 'Images come from registry.example only.' } }),
      'The API server refuses StatefulSet "shop/vc-x": Images come from registry.example only.',
    ],
    [
      'names the other cluster that refused',
      kubeError('Forbidden', 403, { cluster: 'c-1', denial: { policy: 'p', message: 'Ask evil.example.' } }),
      'The API server of cluster "c-1" refuses StatefulSet "shop/vc-x": Ask evil.example.',
    ],
    [
      'includes the message of a store that rejects a value',
      new StoreError('Invalid', 'AllowedHeader is not valid.'),
      'AllowedHeader is not valid.',
    ],
    [
      'includes the message of a full store',
      new StoreError('Full', 'The store has no room.'),
      'The store has no room.',
    ],
    ['returns nothing for missing permissions', kubeError('Forbidden', 403), undefined],
    ['returns nothing for a conflict', kubeError('Conflict', 409), undefined],
    ['returns nothing for a throttled request', kubeError('Throttled', 429), undefined],
    ['returns nothing for an unavailable API server', kubeError('Unavailable', 503), undefined],
    ['returns nothing for an unreachable store', new StoreError('Unreachable', 'It does not answer.'), undefined],
    ['returns nothing for a programming error', new TypeError('undefined is not a function'), undefined],
  ]
  for (const [sentence, error, says] of cases) {
    it(sentence, () => {
      const outcome = outcomeOfRefusal(error, VectorCluster)
      if (says === undefined) expect(outcome).to.equal(undefined)
      else
        expect(outcome).to.deep.equal({
          kind: 'stalled',
          reason: 'ConfigurationInvalid',
          message: says,
          after: REFUSAL_RETRY_MS,
        })
    })
  }

  it('includes no rejected value for any field of any kind', () => {
    for (const kind of KINDS) {
      for (const field of Object.keys(kind.spec.shape)) {
        const outcome = outcomeOfRefusal(invalid(`spec.template.${field}`), kind)
        expect(outcome?.kind === 'stalled' && outcome.message).to.not.contain('s3cret')
      }
    }
  })
})
