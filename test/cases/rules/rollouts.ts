import { PlatformDriftScan, RolloutExecution, RolloutPlan } from '../../../src/crds/rollouts.ts'
import { cases, fixed, ID, type RuleCase } from './case.ts'

const TARGETS = { targetVersions: { cnpg: '1.1.0' } }
const WHAT = 'a plan must name versions, or as a Rollback the rollout that it takes back'

export const ROLLOUT_RULES: readonly RuleCase[] = [
  ...cases(RolloutPlan, TARGETS, [
    ['a component', undefined, {}],
    ['an empty targetVersions', undefined, { targetVersions: {} }, WHAT],
    ['a rollback', undefined, { targetVersions: {}, kind: 'Rollback', rollbackOf: ID }],
    ['a rollback with targetVersions', undefined, { kind: 'Rollback' }, WHAT],
    ['a request to validate', {}, { validateRequestedAt: '2026-01-01T00:00:00Z' }],
    ['other versions', {}, { targetVersions: { cnpg: '1.2.0' } }, fixed('targetVersions')],
    ['another unselected', {}, { unselected: ['velero'] }, fixed('unselected')],
    ['another kind', {}, { kind: 'Target' }, fixed('kind')],
    [
      'another rollbackOf',
      { targetVersions: {}, kind: 'Rollback', rollbackOf: ID },
      { targetVersions: {}, kind: 'Rollback', rollbackOf: 'another' },
      fixed('rollbackOf'),
    ],
  ]),
  ...cases(RolloutExecution, { plan: ID }, [
    ['a plan', undefined, {}],
    ['another plan', {}, { plan: 'another' }, fixed('plan')],
    ['other acknowledgedFailures', {}, { acknowledgedFailures: ['nodes-ready'] }, fixed('acknowledgedFailures')],
    ['an added rollbackOf', {}, { rollbackOf: ID }, fixed('rollbackOf')],
    ['another startedBy', {}, { startedBy: ID }, fixed('startedBy')],
  ]),
  ...cases(PlatformDriftScan, {}, [
    ['an unchanged spec', {}, {}],
    ['another trigger', {}, { trigger: 'Scheduled' }, fixed('trigger')],
    ['another notBefore', {}, { notBefore: '2026-01-01T00:00:00Z' }, fixed('notBefore')],
  ]),
]
