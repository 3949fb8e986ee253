import { expect } from 'chai'
import type { KubeObject } from '../core/object.ts'
import {
  endRemainingSteps,
  initialProgress,
  plainField,
  plainOutput,
  READY_TIMEOUT_MS,
  readinessOf,
  timeLeft,
  unmetDependencies,
} from './blueprints.ts'

const object = (status: object, generation = 1): KubeObject => ({
  apiVersion: 'data.freehold.dev/v1alpha1',
  kind: 'VectorCluster',
  metadata: { name: 'shop', namespace: 'group', generation },
  spec: { replicas: 3 },
  status,
})
const condition = (type: string, status = 'True', reason = 'Available', message = 'so') => ({
  type,
  status,
  reason,
  message,
})

describe('readinessOf', () => {
  const cases: [sentence: string, observed: KubeObject, kind: string][] = [
    ['returns waiting for an object without an observed generation', object({}), 'waiting'],
    ['returns ready for a Ready object', object({ observedGeneration: 1, conditions: [condition('Ready')] }), 'ready'],
    [
      'returns waiting for an object that was Ready before its change',
      object({ observedGeneration: 1, conditions: [condition('Ready')] }, 2),
      'waiting',
    ],
    [
      'returns waiting for a Reconciling object',
      object({ observedGeneration: 1, conditions: [condition('Reconciling')] }),
      'waiting',
    ],
    [
      'returns failed for PlanNotFound',
      object({ observedGeneration: 1, conditions: [condition('Stalled', 'True', 'PlanNotFound')] }),
      'failed',
    ],
    [
      'returns waiting for ReferenceMissing',
      object({ observedGeneration: 1, conditions: [condition('Stalled', 'True', 'ReferenceMissing')] }),
      'waiting',
    ],
  ]
  for (const [sentence, observed, kind] of cases) it(sentence, () => expect(readinessOf(observed).kind).to.equal(kind))
})

describe('steps of a BlueprintExecution', () => {
  const step = (component: string, more: object = {}) => ({
    ...{ component, collection: 'apps', resourceName: component, objectName: component, body: '{}' },
    ...more,
  })
  const now = '2026-01-01T00:00:00Z'

  it('start as Pending, Skipped or Ready, and keep their progress', () => {
    const spec = { steps: [step('a'), step('b', { isSkipped: true }), step('c'), step('d')], takenOver: ['c'] }
    const status = { steps: [{ component: 'd', status: 'Creating' as const, startedAt: now }] }
    const begun = initialProgress({ spec, status } as never, now)
    expect(begun.map((one) => `${one.component} ${one.status}`)).to.deep.equal([
      'a Pending',
      'b Skipped',
      'c Ready',
      'd Creating',
    ])
  })

  it('become Skipped with a message after a failure, if they were not finished', () => {
    const states = ['Ready', 'Failed', 'Skipped', 'Creating', 'Waiting', 'Pending'] as const
    const ended = endRemainingSteps(
      states.map((status) => ({ component: status, status })),
      now,
    )
    expect(ended.map(({ status }) => status)).to.deep.equal([
      ...['Ready', 'Failed', 'Skipped'],
      ...['Skipped', 'Skipped', 'Skipped'],
    ])
    expect(ended.map(({ finishedAt }) => finishedAt)).to.deep.equal([undefined, undefined, undefined, now, now, now])
    expect(ended[3]?.message).to.contain('was started')
    expect(ended[4]?.message).to.contain('not started')
  })

  it('wait for their dependencies except for skipped ones', () => {
    const steps = [
      { component: 'a', status: 'Ready' as const },
      { component: 'b', status: 'Skipped' as const },
      { component: 'c', status: 'Creating' as const },
    ]
    expect(unmetDependencies(step('d', { dependsOn: ['a', 'b', 'c'] }), steps)).to.deep.equal(['c'])
  })

  it('have 30 minutes from their start', () => {
    const progress = { component: 'a', status: 'Creating' as const, startedAt: now }
    expect(timeLeft(progress, Date.parse(now) + 60_000)).to.equal(READY_TIMEOUT_MS - 60_000)
    expect(timeLeft({ component: 'a', status: 'Pending' }, 0)).to.equal(READY_TIMEOUT_MS)
  })

  it('show plain fields and outputs of their object, but no secret', () => {
    const made = object({ publicEndpoint: 'https://x', conditions: [] })
    expect(['publicEndpoint', 'replicas', 'conditions', 'none'].map((field) => plainField(made, field))).to.deep.equal([
      'https://x',
      '3',
      undefined,
      undefined,
    ])
    expect(plainOutput('vectorclusters', made, 'restEndpoint')).to.include('vc-shop.group')
    expect(plainOutput('vectorclusters', made, 'apiKey')).to.equal(undefined)
    expect(plainOutput('jobs', made, 'publicUrl')).to.equal(undefined)
  })
})
