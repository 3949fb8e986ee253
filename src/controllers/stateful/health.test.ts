import { expect } from 'chai'
import { describeMissingPod } from './health.ts'
import type { Pod, StatefulSet } from './types.ts'

const workload = (status: StatefulSet['status'], replicas = 2): StatefulSet => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'vc-products', generation: 2 },
  spec: { replicas },
  ...(status && { status }),
})
const pod = (ready: 'True' | 'False', deletionTimestamp?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'vc-products-0', ...(deletionTimestamp && { deletionTimestamp }) },
  status: { conditions: [{ type: 'Ready', status: ready }] },
})
const seen = { observedGeneration: 2 }

describe('describeMissingPod', () => {
  const cases: [sentence: string, workload: StatefulSet | undefined, pods: Pod[], isMissing: boolean][] = [
    ['the first pod was not created', workload(seen), [], true],
    ['the second was not, though the first is ready', workload(seen), [pod('True')], true],
    ['another pod is not ready, which the next one may wait for', workload(seen), [pod('False')], false],
    [
      'a pod is still ending, whose name the next one has',
      workload(seen),
      [pod('True', '2026-01-01T00:00:00Z')],
      false,
    ],
    ['every pod exists', workload(seen), [pod('True'), pod('True')], false],
    ['the StatefulSet was not looked at since its change', workload({ observedGeneration: 1 }), [], false],
    ['there is no StatefulSet', undefined, [], false],
  ]
  for (const [sentence, set, pods, isMissing] of cases)
    it(`${isMissing ? 'names' : 'does not name'} the StatefulSet if ${sentence}`, () =>
      expect(describeMissingPod(set, pods)).to.equal(
        isMissing
          ? 'Kubernetes has not created a pod yet: the events of StatefulSet "vc-products" say why.'
          : undefined,
      ))
})
