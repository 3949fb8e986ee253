import { expect } from 'chai'
import { timestamp } from '../core/clock.ts'
import {
  BACKUPS_MAX,
  type Backup,
  type BackupLocation,
  backupLocationObstacle,
  expiryOf,
  failureOf,
  listSurplusBackups,
  selectBackupLocation,
  snapshotObstacle,
} from './backups.ts'

const place = (name: string, spec: object = {}, phase = 'Available'): BackupLocation => ({
  apiVersion: 'velero.io/v1',
  kind: 'BackupStorageLocation',
  metadata: { name },
  spec,
  status: { phase },
})

const backup = (day: number, phase: string): Backup => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: `b${day}` },
  status: { phase, startTimestamp: `2026-01-0${day}T02:00:00Z`, errors: 2, warnings: 1 },
})

describe('selectBackupLocation and backupLocationObstacle', () => {
  const cases: [string, BackupLocation[], RegExp | undefined][] = [
    ['report a missing target without a location', [], /has no backup target/],
    [
      'report a missing target without a default among several locations',
      [place('a'), place('b')],
      /has no backup target/,
    ],
    ['accept the only location', [place('a')], undefined],
    [
      'accept the default of several locations',
      [place('a', {}, 'Unavailable'), place('b', { default: true })],
      undefined,
    ],
    ['report an unavailable location', [place('a', {}, 'Unavailable')], /not available/],
    ['report a read-only location', [place('a', { accessMode: 'ReadOnly' })], /read-only/],
  ]
  for (const [sentence, locations, expected] of cases) {
    it(sentence, () => {
      const obstacle = backupLocationObstacle(selectBackupLocation(locations))
      if (expected === undefined) expect(obstacle).to.equal(undefined)
      else expect(obstacle).to.match(expected)
    })
  }
})

describe('snapshotObstacle', () => {
  const storageClass = (name: string, provisioner: string, annotations = {}) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name, annotations },
    provisioner,
  })
  const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  const storage = [storageClass('disks', 'disks.example'), storageClass('folders', 'folders.example', isDefault)]
  const snapshot = [
    {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: 's' },
      driver: 'disks.example',
    },
  ]
  const volume = (storageClass?: string) => ({ name: 'site', kind: 'Persistent', storageClass })
  const cases: [string, ReturnType<typeof volume>, object, boolean][] = [
    ['accepts a volume whose driver has a snapshot class', volume('disks'), {}, true],
    ['reports a default storage class without a snapshot class', volume(), {}, false],
    ['reports a missing storage class', volume('attic'), {}, false],
    ['ignores a volume that the policy omits', volume(), { volumes: ['other'] }, true],
    ['ignores volumes whose files are copied', volume(), { method: 'FileSystem' }, true],
  ]
  for (const [sentence, volumeToSave, policy, isPossible] of cases) {
    it(sentence, () => {
      const found = snapshotObstacle([volumeToSave], { method: 'Snapshot', ...policy }, { storage, snapshot })
      expect(found === undefined).to.equal(isPossible)
    })
  }
})

describe('listSurplusBackups, failureOf and expiryOf', () => {
  const cases: [string, Backup[], number | undefined, string[]][] = [
    ['list nothing without keepLast', [backup(1, 'Completed'), backup(2, 'Completed')], undefined, []],
    ['list all but the newest', [backup(1, 'Completed'), backup(3, 'Completed'), backup(2, 'Completed')], 2, ['b1']],
    [
      'list nothing if the only completed backup is followed by a failed one',
      [backup(1, 'Completed'), backup(2, 'Failed')],
      1,
      [],
    ],
    ['list nothing while a newer backup is in progress', [backup(1, 'Completed'), backup(2, 'InProgress')], 1, []],
    ['list a failed backup before a completed one', [backup(1, 'Failed'), backup(2, 'Completed')], 1, ['b1']],
  ]
  it('list all beyond 500 backups, including failed ones', () => {
    const at = (index: number) => timestamp(Date.UTC(2026, 0, 1) + index * 60_000)
    const many = Array.from({ length: BACKUPS_MAX + 2 }, (_, index) => ({
      ...{ apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: `b${index}` } },
      status: { phase: index === 2 ? 'Completed' : 'Failed', startTimestamp: at(index) },
    }))
    for (const keepLast of [undefined, 1])
      expect(listSurplusBackups(many, keepLast).map(({ metadata }) => metadata.name)).to.deep.equal(['b1', 'b0'])
  })

  for (const [sentence, backups, keepLast, surplus] of cases) {
    it(sentence, () => {
      expect(listSurplusBackups(backups, keepLast).map(({ metadata }) => metadata.name)).to.deep.equal(surplus)
    })
  }

  it('return a failure with the numbers of errors and warnings', () => {
    expect(failureOf(backup(1, 'PartiallyFailed'))).to.equal('It ended as PartiallyFailed with 2 errors and 1 warning.')
    expect(failureOf(backup(1, 'Completed'))).to.equal(undefined)
  })

  const began = { startTimestamp: '2026-01-01T02:00:00Z' }
  const ends: [string, Pick<Backup, 'spec' | 'status'>, string][] = [
    ["Velero's expiration", { status: { ...began, expiration: '2026-02-01T00:00:00Z' } }, '2026-02-01T00:00:00Z'],
    ['the requested TTL', { spec: { ttl: '48h30m0s' }, status: began }, '2026-01-03T02:30:00Z'],
    ["Velero's default of 30 days without a TTL", { status: began }, '2026-01-31T02:00:00Z'],
  ]
  for (const [sentence, more, end] of ends) {
    it(`return ${sentence} as expiry`, () => {
      expect(expiryOf({ ...backup(1, 'Completed'), ...more })).to.equal(end)
    })
  }
})
