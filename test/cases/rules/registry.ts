import { RegistryPin, RegistryRepository, RetentionRun } from '../../../src/crds/registry.ts'
import { cases, fixed, ID, type RuleCase } from './case.ts'

const REPOSITORY = `${ID}/shop/jobs/report`
const ANOTHER = `${ID}/shop/jobs/another`
const PIN = { repository: REPOSITORY, expiresAt: '2030-01-01T00:00:00Z' }
const KNOWN = { repository: REPOSITORY, announcedAt: '2026-01-01T00:00:00Z' }

export const REGISTRY_RULES: readonly RuleCase[] = [
  ...cases(RegistryPin, PIN, [
    ['another expiresAt and keepLast', {}, { expiresAt: '2031-01-01T00:00:00Z', keepLast: 3 }],
    ['another repository', {}, { repository: ANOTHER }, fixed('repository')],
  ]),
  ...cases(RegistryRepository, KNOWN, [
    ['a later announcement', {}, { announcedAt: '2026-01-02T00:00:00Z' }],
    ['another repository', {}, { repository: ANOTHER }, fixed('repository')],
  ]),
  ...cases(RetentionRun, {}, [
    ['an unchanged spec', {}, {}],
    ['another dryRun', { dryRun: true }, { dryRun: false }, fixed('dryRun')],
    ['another trigger', {}, { trigger: 'Scheduled' }, fixed('trigger')],
    ['another notBefore', {}, { notBefore: '2026-01-01T00:00:00Z' }, fixed('notBefore')],
    ['another startedBy', {}, { startedBy: ID }, fixed('startedBy')],
  ]),
]
