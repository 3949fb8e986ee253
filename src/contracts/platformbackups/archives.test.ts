import { expect } from 'chai'
import {
  type ArchiveState,
  archiveOf,
  type DatabaseCluster,
  hasResumed,
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
const figures = (readyCount?: number, volumePercent?: number): WalStatistics => ({ readyCount, volumePercent })

describe('the archive of a database', () => {
  const cases: [string, ArchiveState, Given, WalStatistics | undefined, ('Suspended' | 'ResumePending')?][] = [
    ['is healthy while the engine says so, however much waits', 'Healthy', {}, figures(500, 90)],
    ['is not there where nothing archives', 'NotConfigured', { archives: false, condition: 'False' }, undefined],
    ['is healthy while it fails and little waits', 'Healthy', { condition: 'False' }, figures(99, 69.9)],
    ['is under pressure with a hundred files', 'Pressure', { condition: 'False' }, figures(100, 1)],
    ['is under pressure when the log fills 70 % of its volume', 'Pressure', { condition: 'False' }, figures(1, 70)],
    ['is under pressure when it fails and nobody measures', 'Pressure', { condition: 'False' }, undefined],
    [
      'is under pressure if one figure says so, without the other',
      'Pressure',
      { condition: 'False' },
      figures(undefined, 80),
    ],
    [
      'is suspended as the settings say, before the engine knows',
      'Suspended',
      { condition: 'False' },
      figures(100),
      'Suspended',
    ],
    ['is suspended as its own resource says', 'Suspended', { skips: true }, undefined],
    ['is about to go on', 'ResumePending', { skips: true }, undefined, 'ResumePending'],
  ]
  for (const [title, expected, given, measured, suspension] of cases) {
    it(title, () => expect(archiveOf(cluster(given), suspension, measured).state).to.equal(expected))
  }

  const marks: [string, object, boolean, string | undefined][] = [
    ['nobody suspended it', {}, false, undefined],
    ['the settings name it', {}, true, 'Suspended'],
    ['the settings name it no longer', { [SUSPENDED_ANNOTATION]: 'then' }, false, 'ResumePending'],
    ['it waits for its base backup', { [RESUMED_ANNOTATION]: 'then' }, false, 'ResumePending'],
    ['it is suspended once more before that', { [RESUMED_ANNOTATION]: 'then' }, true, 'Suspended'],
  ]
  for (const [title, annotations, wanted, expected] of marks) {
    it(`is told by its marks: ${title}`, () => {
      expect(suspensionStateOf({ metadata: { name: 'db', annotations: { ...annotations } } }, wanted)).to.equal(
        expected,
      )
    })
  }

  it('has gone on once the engine was told and says so', () => {
    expect(hasResumed(cluster())).to.equal(true)
    expect(hasResumed(cluster({ skips: true }))).to.equal(false)
    expect(hasResumed(cluster({ condition: 'Unknown' }))).to.equal(false)
  })
})
