import { expect } from 'chai'
import {
  type ArchiveState,
  archiveOf,
  type DatabaseCluster,
  findSuspension,
  hasResumed,
  isArchiving,
  recoveryWindowOf,
  suspensionStateOf,
  type WalStatistics,
} from './archives.ts'
import { RESUMED_ANNOTATION, SUSPENDED_ANNOTATION } from './names.ts'

type Given = { archives?: boolean; condition?: string; skips?: boolean }

function cluster({ archives = true, condition = 'True', skips = false }: Given = {}): DatabaseCluster {
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster',
    metadata: { name: 'db', annotations: skips ? { 'cnpg.io/skipWalArchiving': 'enabled' } : {} },
    spec: archives ? { plugins: [{ isWALArchiver: true }] } : {},
    status: { conditions: [{ type: 'ContinuousArchiving', status: condition, message: 'no bucket' }] },
  }
}
const statistics = (readyCount?: number, volumePercent?: number): WalStatistics => ({ readyCount, volumePercent })

describe('archiveOf, suspensionStateOf and hasResumed', () => {
  const cases: [string, ArchiveState, Given, WalStatistics | undefined, ('Suspended' | 'ResumePending')?][] = [
    ['return Healthy while the engine reports so, whatever waits', 'Healthy', {}, statistics(500, 90)],
    ['return NotConfigured without an archiver', 'NotConfigured', { archives: false, condition: 'False' }, undefined],
    ['return Healthy while archiving fails and little waits', 'Healthy', { condition: 'False' }, statistics(99, 69.9)],
    ['return Pressure with 100 waiting files', 'Pressure', { condition: 'False' }, statistics(100, 1)],
    ['return Pressure if WAL fills 70 % of its volume', 'Pressure', { condition: 'False' }, statistics(1, 70)],
    ['return Pressure if archiving fails without metrics', 'Pressure', { condition: 'False' }, undefined],
    [
      'return Pressure if one metric says so and the other is missing',
      'Pressure',
      { condition: 'False' },
      statistics(undefined, 80),
    ],
    ['return Healthy with one small metric', 'Healthy', { condition: 'False' }, statistics(undefined, 1)],
    ['return Healthy with the other one small', 'Healthy', { condition: 'False' }, statistics(1)],
    [
      'return Suspended as soon as the settings say so',
      'Suspended',
      { condition: 'False' },
      statistics(100),
      'Suspended',
    ],
    ['return Suspended if the Cluster says so', 'Suspended', { skips: true }, undefined],
    [
      'return ResumePending until the engine archives again',
      'ResumePending',
      { skips: true },
      undefined,
      'ResumePending',
    ],
  ]
  for (const [title, expected, given, measured, suspension] of cases) {
    it(title, () => expect(archiveOf(cluster(given), suspension, measured).state).to.equal(expected))
  }

  for (const suspension of [undefined, 'Suspended'] as const)
    it(`says since when and why nothing is archived: ${suspension ?? 'Healthy'}`, () => {
      const failing = cluster()
      const [one] = failing.status?.conditions ?? []
      const other = { type: 'Ready', status: 'False', message: 'other', lastTransitionTime: '2026-01-02T00:00:00Z' }
      const conditions = [other, { ...one, type: 'ContinuousArchiving', lastTransitionTime: '2026-01-01T00:00:00Z' }]
      const shown = (status: string) => {
        const given = { ...failing, status: { conditions: conditions.map((each) => ({ ...each, status })) } }
        return archiveOf(given, suspension, statistics(1, 1))
      }
      expect(shown('False')).to.include({ lastArchivedAt: '2026-01-01T00:00:00Z', message: 'no bucket' })
      expect(shown('True')).to.include({ lastArchivedAt: undefined, message: undefined })
    })

  const marks: [string, object, boolean, string | undefined][] = [
    ['undefined without suspension', {}, false, undefined],
    ['Suspended if the settings name it', {}, true, 'Suspended'],
    ['ResumePending if the settings no longer name it', { [SUSPENDED_ANNOTATION]: 'then' }, false, 'ResumePending'],
    ['ResumePending until its base backup', { [RESUMED_ANNOTATION]: 'then' }, false, 'ResumePending'],
    ['Suspended if it is suspended again before that', { [RESUMED_ANNOTATION]: 'then' }, true, 'Suspended'],
  ]
  for (const [title, annotations, wanted, expected] of marks) {
    it(`read the suspension from annotations: ${title}`, () => {
      expect(suspensionStateOf({ metadata: { name: 'db', annotations: { ...annotations } } }, wanted)).to.equal(
        expected,
      )
    })
  }

  it('report a resumed archive once the engine has it and says so', () => {
    expect(hasResumed(cluster())).to.equal(true)
    expect(hasResumed(cluster({ skips: true }))).to.equal(false)
    expect(hasResumed(cluster({ condition: 'Unknown' }))).to.equal(false)
  })
})

describe('isArchiving and recoveryWindowOf', () => {
  const archivers: [string, NonNullable<DatabaseCluster['spec']>, boolean][] = [
    ['by a plugin', { plugins: [{ isWALArchiver: false }, { isWALArchiver: true }] }, true],
    ['not by a plugin that does something else', { plugins: [{ isWALArchiver: false }] }, false],
    ['not by a plugin that is switched off', { plugins: [{ isWALArchiver: true, enabled: false }] }, false],
    ['by the engine itself', { backup: { barmanObjectStore: {} } }, true],
    ['not without any', {}, false],
  ]
  for (const [title, spec, expected] of archivers)
    it(`archive ${title}`, () => expect(isArchiving({ ...cluster(), spec })).to.equal(expected))

  const at = (namespace: string, name: string, server: string, firstRecoverabilityPoint: string) => ({
    ...{ apiVersion: 'barmancloud.cnpg.io/v1', kind: 'ObjectStore', metadata: { namespace, name } },
    status: { serverRecoveryWindow: { [server]: { firstRecoverabilityPoint } } },
  })
  const stores = [at('b', 'store', 'db', 'foreign'), at('a', 'other', 'db', 'other'), at('a', 'store', 'db', 'own')]
  const database = (parameters: Record<string, string>) => ({
    ...cluster(),
    metadata: { namespace: 'a', name: 'db' },
    spec: { plugins: [{ isWALArchiver: true, parameters }] },
  })
  it('read the range from the store of the archiver, in the namespace of the database', () => {
    expect(recoveryWindowOf(database({ barmanObjectName: 'store' }), stores)?.firstRecoverabilityPoint).to.equal('own')
    expect(recoveryWindowOf(database({ barmanObjectName: 'store', serverName: 'db-2' }), stores)).to.equal(undefined)
    expect(recoveryWindowOf(database({ barmanObjectName: 'none' }), stores)).to.equal(undefined)
    expect(recoveryWindowOf({ ...database({}), spec: {} }, stores)).to.equal(undefined)
  })
})

describe('findSuspension', () => {
  const [NOON, LATER] = ['2026-01-01T12:00:00Z', '2026-01-01T13:00:00Z']
  const cases: [string, created: string, suspendedAt: string | undefined, mark: string | undefined, boolean][] = [
    ['finds that of the database', NOON, LATER, undefined, true],
    ['finds that of the second in which it was created', NOON, NOON, undefined, true],
    ['finds one without a time', NOON, undefined, undefined, true],
    ['finds none of an earlier database of the name', LATER, NOON, undefined, false],
    ['finds that of a restored database by its mark', LATER, NOON, `${NOON} by ann`, true],
  ]
  const cluster = { metadata: { namespace: 'a', name: 'db' } }
  for (const [title, creationTimestamp, suspendedAt, mark, expected] of cases)
    it(title, () => {
      const annotations = mark === undefined ? {} : { [SUSPENDED_ANNOTATION]: mark }
      const own = { namespace: 'a', name: 'db', suspendedAt }
      const list = [{ ...own, namespace: 'b' }, { ...own, name: 'other' }, own]
      const found = findSuspension(list, cluster, { metadata: { ...cluster.metadata, creationTimestamp, annotations } })
      expect(found).to.equal(expected ? own : undefined)
    })
})
