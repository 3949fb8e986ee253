import { PlatformAlert } from '../../../src/crds/monitoring.ts'
import { cases, fixed, type RuleCase } from './case.ts'

const ALERT = { alertId: 'disk-7', title: 'A disk is full', level: 2, resourceType: 'apps', resourceName: 'web' }

export const MONITORING_RULES: readonly RuleCase[] = [
  ...cases(PlatformAlert, ALERT, [
    ['another status, level and title', {}, { status: 'Resolved', level: 4, title: 'It was' }],
    ['another id', {}, { alertId: 'disk-8' }, fixed('alertId')],
    ['another collection', {}, { resourceType: 'jobs' }, fixed('resourceType')],
    ['another resource', {}, { resourceName: 'other' }, fixed('resourceName')],
  ]),
]
