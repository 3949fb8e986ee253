import { expect } from 'chai'
import type { ArchiveState } from './archives.ts'
import {
  type BackupCondition,
  type BackupObservation,
  backupConditions,
  overallStateOf,
  VELERO_CRD_NAMES,
} from './conditions.ts'
import { PLATFORM_SCHEDULE, SCHEDULE_LABEL } from './names.ts'

const NOW = Date.parse('2026-06-02T12:00:00Z')
const at = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString()

/** A definition that has whatever anybody asks for. */
const anything: object = new Proxy({}, { get: () => ({ properties: anything }), has: () => true })
const definitions = VELERO_CRD_NAMES.map((name) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: { versions: [{ schema: { openAPIV3Schema: { properties: anything } } }] },
})) as BackupObservation['definitions']

const backup = (name: string, phase: string, hours: number) => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name, labels: { [SCHEDULE_LABEL]: PLATFORM_SCHEDULE } },
  status: { phase, startTimestamp: at(hours + 0.1), completionTimestamp: at(hours), errors: 1 },
})
const location = (status: object, spec: object = {}) =>
  ({
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'default' },
    spec,
    status,
  }) as NonNullable<BackupObservation['location']>
const schedule = (status: object, spec: object = {}, hours = 100) =>
  ({
    ...{ apiVersion: 'velero.io/v1', kind: 'Schedule' },
    metadata: { name: PLATFORM_SCHEDULE, creationTimestamp: at(hours) },
    ...{ spec, status },
  }) as NonNullable<BackupObservation['schedule']>
const restore = (phase: string, of: string) => ({
  ...{ apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'try' } },
  ...{ spec: { backupName: of }, status: { phase, completionTimestamp: at(1) } },
})

const GOOD: BackupObservation = {
  now: NOW,
  location: location({ phase: 'Available', lastValidationTime: at(0.01) }),
  schedule: schedule({ phase: 'Enabled' }),
  backups: [backup('one', 'Completed', 11)],
  definitions,
  restores: [restore('Completed', 'one')],
}

const WITHOUT_VELERO = { location: undefined, schedule: undefined, definitions: [] }

describe('what is said of the backups of the platform', () => {
  for (const [phase, said] of [
    ['Failed', { failureReason: 'found a backup with status "InProgress"' }],
    ['FailedValidation', { validationErrors: ['the target is', 'away'] }],
  ] as const)
    it(`is why Velero gave up one that is ${phase}`, () => {
      const last = backup('one', phase, 1)
      const seen = { ...GOOD, backups: [{ ...last, status: { ...last.status, ...said } }] }
      const found = backupConditions(seen).find(({ type }) => type === 'LastBackupSucceeded')
      expect(found?.message).to.equal(`Backup "one" failed. ${Object.values(said).flat().join('; ')}`)
    })

  const said = (change: Partial<BackupObservation>, type: BackupCondition['type']) => {
    const found = backupConditions({ ...GOOD, ...change }).find((one) => one.type === type)
    return `${found?.status} ${found?.reason}`
  }
  const cases: [string, BackupCondition['type'], Partial<BackupObservation>, string][] = [
    ['a target that Velero reaches is available', 'TargetAvailable', {}, 'True Available'],
    ['without Velero there is no target', 'TargetAvailable', WITHOUT_VELERO, 'False EngineMissing'],
    ['without Velero there is no schedule', 'ScheduleActive', WITHOUT_VELERO, 'False EngineMissing'],
    ['no target is none', 'TargetAvailable', { location: undefined }, 'False NotConfigured'],
    ['one that was not looked at is unknown', 'TargetAvailable', { location: location({}) }, 'Unknown NotValidated'],
    [
      'one that does not answer is not',
      'TargetAvailable',
      { location: location({ phase: 'Unavailable' }) },
      'False Unavailable',
    ],
    [
      'one that is read-only takes nothing',
      'TargetAvailable',
      { location: location({ phase: 'Available' }, { accessMode: 'ReadOnly' }) },
      'False ReadOnly',
    ],
    ['a schedule that Velero took is active', 'ScheduleActive', {}, 'True Enabled'],
    ['a missing one is not', 'ScheduleActive', { schedule: undefined }, 'False Missing'],
    [
      'a paused one is not',
      'ScheduleActive',
      { schedule: schedule({ phase: 'Enabled' }, { paused: true }) },
      'False Paused',
    ],
    [
      'one that Velero refuses is not',
      'ScheduleActive',
      { schedule: schedule({ phase: 'FailedValidation' }) },
      'False Refused',
    ],
    ['a completed last backup succeeded', 'LastBackupSucceeded', {}, 'True Completed'],
    [
      'a newer one that failed counts, whatever was before',
      'LastBackupSucceeded',
      { backups: [...GOOD.backups, backup('two', 'PartiallyFailed', 2)] },
      'False PartiallyFailed',
    ],
    [
      'one that is under way does not count yet',
      'LastBackupSucceeded',
      { backups: [...GOOD.backups, backup('two', 'InProgress', 0)] },
      'True Completed',
    ],
    ['a backup of yesterday is fresh', 'LastBackupFresh', { backups: [backup('one', 'Completed', 25)] }, 'True Fresh'],
    [
      'one of 27 hours ago is too old',
      'LastBackupFresh',
      { backups: [backup('one', 'Completed', 27)] },
      'False TooOld',
    ],
    ['a failed one is none', 'LastBackupFresh', { backups: [backup('one', 'Failed', 1)] }, 'False NoBackup'],
    [
      'the first one has a day of time',
      'LastBackupFresh',
      { backups: [], schedule: schedule({ phase: 'Enabled' }, {}, 3) },
      'Unknown NoBackup',
    ],
    ['definitions with every field match', 'CrdsMatch', {}, 'True Match'],
    ['without Velero there are none', 'CrdsMatch', { definitions: [] }, 'False EngineMissing'],
    ['one that is missing is told of', 'CrdsMatch', { definitions: definitions.slice(1) }, 'False DefinitionsTooOld'],
    [
      'definitions that a chart never updated lack fields',
      'CrdsMatch',
      {
        definitions: definitions.map((one) => ({ ...one, spec: { versions: [{ schema: { openAPIV3Schema: {} } }] } })),
      },
      'False DefinitionsTooOld',
    ],
    ['a restore that was completed shows that it can be done', 'RestoreTested', {}, 'True Restored'],
    [
      'a restore of something else shows nothing',
      'RestoreTested',
      { restores: [restore('Completed', 'x')] },
      'Unknown NeverRestored',
    ],
    [
      'one that failed shows the contrary',
      'RestoreTested',
      { restores: [restore('Failed', 'one')] },
      'False RestoreFailed',
    ],
  ]
  for (const [title, type, change, expected] of cases) {
    it(title, () => expect(said(change, type)).to.equal(expected))
  }

  const overall: [string, Partial<BackupObservation>, ArchiveState[], string][] = [
    ['all is well if everything holds', {}, ['Healthy', 'NotConfigured'], 'Healthy'],
    ['a restore that nobody tried is no trouble', { restores: [] }, [], 'Healthy'],
    ['a backup that failed degrades', { backups: [...GOOD.backups, backup('two', 'Failed', 2)] }, [], 'Degraded'],
    ['a log that fills a disk degrades', {}, ['Pressure'], 'Degraded'],
    ['so does an archive that is suspended', {}, ['Suspended'], 'Degraded'],
    ['without a target backups fail', { location: undefined }, [], 'Failing'],
    ['with no fresh backup they fail', { backups: [backup('one', 'Completed', 50)] }, [], 'Failing'],
    [
      'without Velero they fail',
      { definitions: [], location: undefined, schedule: undefined, backups: [] },
      [],
      'Failing',
    ],
  ]
  for (const [title, change, archives, expected] of overall) {
    it(title, () => expect(overallStateOf(backupConditions({ ...GOOD, ...change }), archives)).to.equal(expected))
  }

  it('never holds more than a kilobyte of what Velero says, in one line', () => {
    const message = `x\u0000\n${'y'.repeat(5000)}`
    const [first] = backupConditions({ ...GOOD, location: location({ phase: 'Unavailable', message }) })
    expect(first?.message).to.have.length(1024)
    expect(first?.message?.slice(0, 4)).to.equal('x yy')
  })
})
