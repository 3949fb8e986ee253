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

const taken = (day: number, phase: string): Backup => ({
  apiVersion: 'velero.io/v1',
  kind: 'Backup',
  metadata: { name: `b${day}` },
  status: { phase, startTimestamp: `2026-01-0${day}T02:00:00Z`, errors: 2, warnings: 1 },
})

describe('the place of backups', () => {
  const cases: [string, BackupLocation[], RegExp | undefined][] = [
    ['is missing where there is none', [], /has no backup target/],
    ['is missing where none of several is the default', [place('a'), place('b')], /has no backup target/],
    ['is the only one', [place('a')], undefined],
    ['is the default of several', [place('a', {}, 'Unavailable'), place('b', { default: true })], undefined],
    ['is of no use while it is not available', [place('a', {}, 'Unavailable')], /not available/],
    ['is of no use while it is read-only', [place('a', { accessMode: 'ReadOnly' })], /read-only/],
  ]
  for (const [sentence, locations, expected] of cases) {
    it(sentence, () => {
      const obstacle = backupLocationObstacle(selectBackupLocation(locations))
      if (expected === undefined) expect(obstacle).to.equal(undefined)
      else expect(obstacle).to.match(expected)
    })
  }
})

describe('backups by snapshot', () => {
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
    ['are possible where a class of snapshots has the driver', volume('disks'), {}, true],
    ['are not possible where none has the driver of the default class', volume(), {}, false],
    ['are not possible where the storage class is not there', volume('attic'), {}, false],
    ['need nothing of a volume that is left out', volume(), { volumes: ['other'] }, true],
    ['need nothing where files are copied', volume(), { method: 'FileSystem' }, true],
  ]
  for (const [sentence, asked, policy, isPossible] of cases) {
    it(sentence, () => {
      const found = snapshotObstacle([asked], { method: 'Snapshot', ...policy }, { storage, snapshot })
      expect(found === undefined).to.equal(isPossible)
    })
  }
})

describe('backups that are kept', () => {
  const cases: [string, Backup[], number | undefined, string[]][] = [
    ['are all without a number', [taken(1, 'Completed'), taken(2, 'Completed')], undefined, []],
    ['are the newest', [taken(1, 'Completed'), taken(3, 'Completed'), taken(2, 'Completed')], 2, ['b1']],
    ['are good ones, whatever failed since', [taken(1, 'Completed'), taken(2, 'Failed')], 1, []],
    ['are those under way too', [taken(1, 'Completed'), taken(2, 'InProgress')], 1, []],
    ['are not those that failed before a good one', [taken(1, 'Failed'), taken(2, 'Completed')], 1, ['b1']],
  ]
  it('are at most five hundred, also of those that failed', () => {
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

  it('say what went wrong in words of ours', () => {
    expect(failureOf(taken(1, 'PartiallyFailed'))).to.equal('It ended as PartiallyFailed with 2 errors and 1 warning.')
    expect(failureOf(taken(1, 'Completed'))).to.equal(undefined)
  })

  const began = { startTimestamp: '2026-01-01T02:00:00Z' }
  const ends: [string, Pick<Backup, 'spec' | 'status'>, string][] = [
    ['when Velero says', { status: { ...began, expiration: '2026-02-01T00:00:00Z' } }, '2026-02-01T00:00:00Z'],
    ['after what they were asked for', { spec: { ttl: '48h30m0s' }, status: began }, '2026-01-03T02:30:00Z'],
    ['after what Velero keeps them for, if nothing was asked', { status: began }, '2026-01-31T02:00:00Z'],
  ]
  for (const [sentence, more, end] of ends) {
    it(`end ${sentence}`, () => {
      expect(expiryOf({ ...taken(1, 'Completed'), ...more })).to.equal(end)
    })
  }
})
