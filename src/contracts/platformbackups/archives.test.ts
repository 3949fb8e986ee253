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
