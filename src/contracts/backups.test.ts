import { expect } from 'chai'
import { timestamp } from '../core/clock.ts'
import {
  BACKUPS_MAX,
  type Backup,
  type BackupLocation,
  backupLocationObstacle,
  backupScheduleName,
  type CoveredVolume,
  expiryOf,
  failureOf,
  findLastEndedBackup,
  listSurplusBackups,
  phaseOf,
  selectBackedUpVolumes,
  selectBackupLocation,
  selectSnapshotClass,
  sortBackupsNewestFirst,
  type VolumeClasses,
  volumeBackupsObstacle,
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

const blocked = (volumes: CoveredVolume[], policy: object, classes: VolumeClasses) => {
  const target = { apiVersion: 'velero.io/v1', kind: 'BackupStorageLocation', metadata: { name: 'default' } }
  const means = { target: { ...target, status: { phase: 'Available' } }, classes }
  return volumeBackupsObstacle(means, volumes, { method: 'Snapshot', ...policy }, 'Use files.')
}

describe('volumeBackupsObstacle', () => {
  it('names a missing target before classes', () => {
    const means = { target: undefined, classes: { storage: [], snapshot: [] } }
    expect(volumeBackupsObstacle(means, [{ name: 'site' }], { method: 'Snapshot' }, '')?.code).to.equal(
      'BACKUP_TARGET_MISSING',
    )
  })

  const storageClass = (name: string, provisioner: string, annotations = {}) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name, annotations },
    provisioner,
  })
  const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  const storage = [
    storageClass('disks', 'disks.example'),
    storageClass('folders', 'folders.example', isDefault),
    storageClass('tapes', 'tapes.example'),
  ]
  const snapshot = ['disks.example', 'tapes.example'].map((driver) => ({
    ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotClass', metadata: { name: driver } },
    driver,
  }))
  const volume = (storageClass?: string) => ({ name: 'site', storageClass })
  const cases: [string, ReturnType<typeof volume>, object, boolean][] = [
    ['accepts a volume whose driver has a snapshot class', volume('disks'), {}, true],
    ['reports a default storage class without a snapshot class', volume(), {}, false],
    ['accepts a volume if one of several snapshot classes is of its driver', volume('tapes'), {}, true],
    ['reports a missing storage class', volume('attic'), {}, false],
    ['ignores volumes whose files are copied', volume(), { method: 'FileSystem' }, true],
  ]
  for (const [sentence, volumeToSave, policy, isPossible] of cases) {
    it(sentence, () => {
      const found = blocked([volumeToSave], policy, { storage, snapshot })
      expect(found === undefined).to.equal(isPossible)
    })
  }
})

describe('selectSnapshotClass', () => {
  const isDefault = { 'snapshot.storage.kubernetes.io/is-default-class': 'true' }
  const snapshotClass = (name: string, driver = 'disks.example', annotations = {}) => ({
    ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshotClass', metadata: { name, annotations } },
    driver,
  })
  const storage = [
    { apiVersion: 'v', kind: 'StorageClass', metadata: { name: 'disks' }, provisioner: 'disks.example' },
    { apiVersion: 'v', kind: 'StorageClass', metadata: { name: 'odd' } },
  ]
  const cases: [string, string, ReturnType<typeof snapshotClass>[], string | undefined][] = [
    ['returns that of the driver', 'disks', [snapshotClass('a', 'tapes.example'), snapshotClass('b')], 'b'],
    ['prefers the default of the driver', 'disks', [snapshotClass('a'), snapshotClass('b', undefined, isDefault)], 'b'],
    ['returns the first by name', 'disks', [snapshotClass('b'), snapshotClass('a')], 'a'],
    ['ignores the default of another driver', 'disks', [snapshotClass('a', 'tapes.example', isDefault)], undefined],
    ['returns none of an unknown storage class', 'attic', [snapshotClass('a')], undefined],
  ]
  for (const [sentence, name, snapshot, chosen] of cases)
    it(sentence, () => expect(selectSnapshotClass(name, { storage, snapshot })?.metadata.name).to.equal(chosen))
})

describe('volumeBackupsObstacle and selectBackedUpVolumes', () => {
  it('name the volume and its storage class', () => {
    const volumes = [{ name: 'site', kind: 'Persistent', storageClass: 'attic' }]
    const storage = [
      { apiVersion: 'v', kind: 'StorageClass', metadata: { name: 'attic' }, provisioner: 'attic.example' },
    ]
    expect(blocked(volumes, {}, { storage, snapshot: [] })).to.deep.equal({
      code: 'SNAPSHOT_CLASS_MISSING',
      volume: 'site',
      message:
        'Volume "site" cannot be backed up by Snapshot: storage class "attic" has no VolumeSnapshotClass. Use files.',
    })
  })

  it('need a mark where a driver has several snapshot classes: Velero chooses by it', () => {
    const storage = [{ apiVersion: 'v', kind: 'StorageClass', metadata: { name: 'disks' }, provisioner: 'd' }]
    const obstacle = (...marks: object[]) => {
      const snapshot = marks.map((mark, at) => {
        const metadata = { name: `s${at}`, ...mark }
        return { apiVersion: 'v', kind: 'VolumeSnapshotClass', metadata, driver: 'd' }
      })
      return blocked([{ name: 'site', storageClass: 'disks' }], {}, { storage, snapshot })
    }
    const labels = { 'velero.io/csi-volumesnapshot-class': 'true' }
    const annotations = { 'snapshot.storage.kubernetes.io/is-default-class': 'true' }
    expect(obstacle({}, {})?.message).to.match(/several VolumeSnapshotClasses, but none with the label velero.io/)
    expect(obstacle({}, { labels })).to.equal(undefined)
    expect(obstacle({ annotations }, {})).to.equal(undefined)
  })

  it('judge a volume without a storage class by the default one', () => {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
    const disks = { apiVersion: 'v', kind: 'StorageClass', metadata: { name: 'disks', annotations }, provisioner: 'd' }
    const others = ['a', 'b'].map((name) => ({ ...disks, metadata: { name }, provisioner: 'other' }))
    const snapshot = [{ apiVersion: 'v', kind: 'VolumeSnapshotClass', metadata: { name: 's' }, driver: 'd' }]
    const storage = [...others, disks]
    expect(blocked([{ name: 'site' }], {}, { storage, snapshot })).to.equal(undefined)
  })

  it('cover persistent volumes only, and those that the policy names', () => {
    const volumes = [
      { name: 'site', kind: 'Persistent' },
      { name: 'logs', kind: 'Persistent' },
      { name: 'cache', kind: 'Ephemeral' },
    ]
    const names = (policy: object) => selectBackedUpVolumes(volumes, policy).map(({ name }) => name)
    expect(names({})).to.deep.equal(['site', 'logs'])
    expect(names({ volumes: ['logs', 'cache'] })).to.deep.equal(['logs'])
    expect(names({ volumes: [] })).to.deep.equal([])
  })
})

describe('backupScheduleName', () => {
  it('differs between namespaces, kinds and names', () => {
    const nameOf = (kind: string, namespace: string, name: string) =>
      backupScheduleName({ kind, metadata: { namespace, name } })
    expect(nameOf('ContainerInstance', 'a', 'site')).to.match(/^ctibackup-site-[0-9a-f]{10}$/)
    expect(nameOf('PlatformApp', 'a', 'site')).to.match(/^pappbackup-site-[0-9a-f]{10}$/)
    const all = [
      ['a', 'site'],
      ['b', 'site'],
      ['a', 'site-2'],
    ].map(([space = '', name = '']) => nameOf('PlatformApp', space, name))
    expect(new Set(all).size).to.equal(3)
  })
})

describe('sortBackupsNewestFirst and findLastEndedBackup', () => {
  const named = (name: string, more: object): Backup => ({ ...backup(1, 'Completed'), metadata: { name }, ...more })

  it('sort by start, then by name; a backup that has not begun counts from its creation', () => {
    const waiting: Backup = {
      ...backup(2, ''),
      metadata: { name: 'w', creationTimestamp: '2026-01-05T00:00:00Z' },
      status: {},
    }
    const backups = [named('a', {}), named('b', {}), waiting, backup(3, 'Completed')]
    expect(sortBackupsNewestFirst(backups).map(({ metadata }) => metadata.name)).to.deep.equal(['w', 'b3', 'b', 'a'])
    expect(phaseOf(waiting)).to.equal('New')
  })

  it('return the newest one that is over', () => {
    const backups = [backup(1, 'Completed'), backup(2, 'PartiallyFailed'), backup(3, 'InProgress')]
    expect(findLastEndedBackup(backups)?.metadata.name).to.equal('b2')
    expect(findLastEndedBackup([backup(3, 'InProgress')])).to.equal(undefined)
  })
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
    ['never list a backup in progress', [backup(1, 'InProgress'), backup(2, 'Completed')], 1, []],
    ['never list a backup that has not begun', [{ ...backup(1, ''), status: {} }, backup(2, 'Completed')], 1, []],
    [
      'list a refused backup before a completed one',
      [backup(1, 'FailedValidation'), backup(2, 'Completed')],
      1,
      ['b1'],
    ],
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
    expect(failureOf({ ...backup(1, ''), status: {} })).to.equal(undefined)
    expect(failureOf(backup(1, 'FailedValidation'))).to.match(/^Velero refused/)
  })

  it('count a backup by snapshots that moved none as failed: without its feature EnableCSI, Velero skips volumes', () => {
    const moved = (day: number, backupItemOperationsCompleted?: number): Backup => {
      const { status, ...rest } = backup(day, 'Completed')
      const operations = backupItemOperationsCompleted === undefined ? {} : { backupItemOperationsCompleted }
      return { ...rest, spec: { snapshotMoveData: true }, status: { ...status, ...operations } }
    }
    expect(failureOf(moved(1, 1))).to.equal(undefined)
    expect(failureOf(moved(1))).to.match(/contains no volume.*EnableCSI/)
    expect(failureOf({ ...moved(1), status: { phase: 'Finalizing' } })).to.equal(undefined)
    expect(listSurplusBackups([moved(1, 1), moved(2)], 1)).to.deep.equal([])
  })

  const began = { startTimestamp: '2026-01-01T02:00:00Z' }
  const ends: [string, Pick<Backup, 'spec' | 'status'>, string][] = [
    ["Velero's expiration", { status: { ...began, expiration: '2026-02-01T00:00:00Z' } }, '2026-02-01T00:00:00Z'],
    ['the requested TTL', { spec: { ttl: '48h30m0s' }, status: began }, '2026-01-03T02:30:00Z'],
    [
      "Velero's default for a TTL that is no duration",
      { spec: { ttl: 'x48h' }, status: began },
      '2026-01-31T02:00:00Z',
    ],
    ["Velero's default of 30 days without a TTL", { status: began }, '2026-01-31T02:00:00Z'],
  ]
  for (const [sentence, more, end] of ends) {
    it(`return ${sentence} as expiry`, () => {
      expect(expiryOf({ ...backup(1, 'Completed'), ...more })).to.equal(end)
    })
  }
})
