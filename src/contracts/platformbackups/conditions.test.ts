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

/** A CRD schema that has any field. */
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
const restore = (phase: string, of: string, completionTimestamp: string | undefined = at(1)) => ({
  ...{ apiVersion: 'velero.io/v1', kind: 'Restore', metadata: { name: 'try' } },
  ...{ spec: { backupName: of }, status: { phase, ...(completionTimestamp !== '' && { completionTimestamp }) } },
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

describe('backupConditions and overallStateOf', () => {
  for (const [phase, details] of [
    ['Failed', { failureReason: 'found a backup with status "InProgress"' }],
    ['FailedValidation', { validationErrors: ['the target is', 'away'] }],
  ] as const)
    it(`quote Velero's reason for a backup in phase ${phase}`, () => {
      const last = backup('one', phase, 1)
      const seen = { ...GOOD, backups: [{ ...last, status: { ...last.status, ...details } }] }
      const found = backupConditions(seen).find(({ type }) => type === 'LastBackupSucceeded')
      expect(found?.message).to.equal(`Backup "one" failed. ${Object.values(details).flat().join('; ')}`)
    })

  const conditionOf = (change: Partial<BackupObservation>, type: BackupCondition['type']) => {
    const found = backupConditions({ ...GOOD, ...change }).find((one) => one.type === type)
    return `${found?.status} ${found?.reason}`
  }
  const cases: [string, BackupCondition['type'], Partial<BackupObservation>, string][] = [
    ['report an available target as available', 'TargetAvailable', {}, 'True Available'],
    ['report a missing engine instead of a target', 'TargetAvailable', WITHOUT_VELERO, 'False EngineMissing'],
    ['report a missing engine instead of a schedule', 'ScheduleActive', WITHOUT_VELERO, 'False EngineMissing'],
    ['report a missing target', 'TargetAvailable', { location: undefined }, 'False NotConfigured'],
    ['report an unvalidated target as unknown', 'TargetAvailable', { location: location({}) }, 'Unknown NotValidated'],
    [
      'report an unavailable target',
      'TargetAvailable',
      { location: location({ phase: 'Unavailable' }) },
      'False Unavailable',
    ],
    [
      'report a read-only target',
      'TargetAvailable',
      { location: location({ phase: 'Available' }, { accessMode: 'ReadOnly' }) },
      'False ReadOnly',
    ],
    ['report an enabled schedule as active', 'ScheduleActive', {}, 'True Enabled'],
    ['report a missing schedule', 'ScheduleActive', { schedule: undefined }, 'False Missing'],
    [
      'report a paused schedule',
      'ScheduleActive',
      { schedule: schedule({ phase: 'Enabled' }, { paused: true }) },
      'False Paused',
    ],
    [
      'report a schedule that Velero refuses',
      'ScheduleActive',
      { schedule: schedule({ phase: 'FailedValidation' }) },
      'False Refused',
    ],
    [
      'report a schedule that Velero has not seen yet as unknown',
      'ScheduleActive',
      { schedule: schedule({ phase: 'New' }) },
      'Unknown NotValidated',
    ],
    ['report a completed last backup', 'LastBackupSucceeded', {}, 'True Completed'],
    [
      'report a later backup that failed',
      'LastBackupSucceeded',
      { backups: [...GOOD.backups, backup('two', 'PartiallyFailed', 2)] },
      'False PartiallyFailed',
    ],
    [
      'ignore a later backup in progress',
      'LastBackupSucceeded',
      { backups: [...GOOD.backups, backup('two', 'InProgress', 0)] },
      'True Completed',
    ],
    [
      'report a backup of 25 hours ago as fresh',
      'LastBackupFresh',
      { backups: [backup('one', 'Completed', 25)] },
      'True Fresh',
    ],
    [
      'report a backup of 27 hours ago as too old',
      'LastBackupFresh',
      { backups: [backup('one', 'Completed', 27)] },
      'False TooOld',
    ],
    ['ignore a failed backup', 'LastBackupFresh', { backups: [backup('one', 'Failed', 1)] }, 'False NoBackup'],
    [
      'give the first backup a day',
      'LastBackupFresh',
      { backups: [], schedule: schedule({ phase: 'Enabled' }, {}, 3) },
      'Unknown NoBackup',
    ],
    ['report that no backup was made in a day', 'LastBackupFresh', { backups: [] }, 'False NoBackup'],
    [
      'report that no backup was ever scheduled',
      'LastBackupFresh',
      { backups: [], schedule: undefined },
      'False NoBackup',
    ],
    ['accept CRDs with all fields', 'CrdsMatch', {}, 'True Match'],
    ['report a missing engine instead of CRDs', 'CrdsMatch', { definitions: [] }, 'False EngineMissing'],
    ['report a missing CRD', 'CrdsMatch', { definitions: definitions.slice(1) }, 'False DefinitionsTooOld'],
    [
      'report CRDs without newer fields',
      'CrdsMatch',
      {
        definitions: definitions.map((one) => ({ ...one, spec: { versions: [{ schema: { openAPIV3Schema: {} } }] } })),
      },
      'False DefinitionsTooOld',
    ],
    ['report a completed restore', 'RestoreTested', {}, 'True Restored'],
    [
      'ignore the restore of another backup',
      'RestoreTested',
      { restores: [restore('Completed', 'x')] },
      'Unknown NeverRestored',
    ],
    ['report a failed restore', 'RestoreTested', { restores: [restore('Failed', 'one')] }, 'False RestoreFailed'],
    [
      'report the last of several restores',
      'RestoreTested',
      { restores: [restore('Completed', 'one', at(3)), restore('Failed', 'one', at(2)), restore('New', 'one', '')] },
      'False RestoreFailed',
    ],
  ]
  for (const [title, type, change, expected] of cases) {
    it(title, () => expect(conditionOf(change, type)).to.equal(expected))
  }

  const overall: [string, Partial<BackupObservation>, ArchiveState[], string][] = [
    ['return Healthy if all conditions are true', {}, ['Healthy', 'NotConfigured'], 'Healthy'],
    ['return Healthy without a tested restore', { restores: [] }, [], 'Healthy'],
    [
      'return Degraded after a failed backup',
      { backups: [...GOOD.backups, backup('two', 'Failed', 2)] },
      [],
      'Degraded',
    ],
    ['return Degraded for a database with WAL pressure', {}, ['Pressure'], 'Degraded'],
    ['return Degraded for a suspended archive', {}, ['Suspended'], 'Degraded'],
    ['return Failing without a target', { location: undefined }, [], 'Failing'],
    ['return Degraded after a failed restore', { restores: [restore('Failed', 'one')] }, [], 'Degraded'],
    ['return Degraded while Velero checks the target', { location: location({}) }, [], 'Degraded'],
    ['return Failing with a paused schedule', { schedule: schedule({}, { paused: true }) }, [], 'Failing'],
    ['return Failing without a CRD', { definitions: definitions.slice(1) }, [], 'Failing'],
    ['return Failing without a fresh backup', { backups: [backup('one', 'Completed', 50)] }, [], 'Failing'],
    [
      'return Failing without Velero',
      { definitions: [], location: undefined, schedule: undefined, backups: [] },
      [],
      'Failing',
    ],
  ]
  for (const [title, change, archives, expected] of overall) {
    it(title, () => expect(overallStateOf(backupConditions({ ...GOOD, ...change }), archives)).to.equal(expected))
  }

  it('date each condition by what made it so', () => {
    const sinceOf = (change: Partial<BackupObservation>) =>
      Object.fromEntries(backupConditions({ ...GOOD, ...change }).map(({ type, since }) => [type, since]))
    const crds = definitions.map((one, day) => ({
      ...one,
      metadata: { ...one.metadata, creationTimestamp: at(30 - day) },
    }))
    expect(sinceOf({ definitions: crds })).to.deep.equal({
      ...{ TargetAvailable: at(0.01), ScheduleActive: at(100), LastBackupSucceeded: at(11) },
      ...{ LastBackupFresh: at(11), CrdsMatch: at(30), RestoreTested: at(1) },
    })
    const old = sinceOf({ backups: [backup('one', 'Completed', 27)], restores: [], location: location({}) })
    expect(old).to.include({
      ...{ LastBackupFresh: '2026-06-02T11:00:00Z', RestoreTested: '2026-06-02T12:00:00Z' },
      TargetAvailable: '2026-06-02T12:00:00Z',
    })
  })

  it('limit a message from Velero to 1,024 characters on one line', () => {
    const message = `x\u0000\n${'y'.repeat(5000)}`
    const [first] = backupConditions({ ...GOOD, location: location({ phase: 'Unavailable', message }) })
    expect(first?.message).to.have.length(1024)
    expect(first?.message?.slice(0, 4)).to.equal('x yy')
  })
})
