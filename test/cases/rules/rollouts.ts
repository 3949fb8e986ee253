import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../../src/crds/rollouts.ts'
import { cases, fixed, ID, type RuleCase } from './case.ts'

const TARGETS = { targetVersions: { cnpg: '1.1.0' } }
const WHAT = 'a plan must name versions, or as a Rollback the rollout that it takes back'

export const ROLLOUT_RULES: readonly RuleCase[] = [
  ...cases(RolloutPlan, TARGETS, [
    ['a component', undefined, {}],
    ['nothing', undefined, { targetVersions: {} }, WHAT],
    ['a rollback', undefined, { targetVersions: {}, kind: 'Rollback', rollbackOf: ID }],
    ['a rollback of nothing', undefined, { kind: 'Rollback' }, WHAT],
    ['another look', {}, { validateRequestedAt: '2026-01-01T00:00:00Z' }],
    ['other versions', {}, { targetVersions: { cnpg: '1.2.0' } }, fixed('targetVersions')],
    ['another chart that stays', {}, { unselected: ['velero'] }, fixed('unselected')],
    ['another kind', {}, { kind: 'Target' }, fixed('kind')],
    [
      'another rollout that it takes back',
      { targetVersions: {}, kind: 'Rollback', rollbackOf: ID },
      { targetVersions: {}, kind: 'Rollback', rollbackOf: 'another' },
      fixed('rollbackOf'),
    ],
  ]),
  ...cases(RolloutExecution, { plan: ID }, [
    ['a plan', undefined, {}],
    ['another plan', {}, { plan: 'another' }, fixed('plan')],
    ['other checks', {}, { acknowledgedFailures: ['nodes-ready'] }, fixed('acknowledgedFailures')],
    ['something that it takes back', {}, { rollbackOf: ID }, fixed('rollbackOf')],
    ['somebody else', {}, { startedBy: ID }, fixed('startedBy')],
  ]),
  ...cases(PlatformDriftScan, {}, [
    ['the same again', {}, {}],
    ['another trigger', {}, { trigger: 'Scheduled' }, fixed('trigger')],
    ['another time', {}, { notBefore: '2026-01-01T00:00:00Z' }, fixed('notBefore')],
  ]),
]
