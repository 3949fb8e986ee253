import { expect } from 'chai'
import { archivingGaps, type EngineView, recoveryOf, storeRetention } from './index.ts'

describe('retention of the store', () => {
  const cases: [string, number | undefined, Parameters<typeof storeRetention>[1]][] = [
    ['is what is asked for without snapshots', 14, []],
    ['is longer where a snapshot is kept longer', 90, [{ kind: 'Manual', retentionDays: 90 }]],
    ['is not shorter for one that is kept shorter', 14, [{ kind: 'Final', retentionDays: 3 }]],
    ['ends where a snapshot is kept until it is deleted', undefined, [{ kind: 'Manual' }]],
    ['does not count those of the schedule', 14, [{ kind: 'Scheduled' }]],
  ]
  for (const [name, days, snapshots] of cases) {
    it(name, () => expect(storeRetention(14, snapshots)).to.equal(days))
  }
})

describe('the archive', () => {
  const NOW = '2026-11-02T10:00:00Z'
  const engine = (status: string): EngineView => ({
    phase: '',
    readyInstances: 1,
    currentPrimary: 'x',
    conditions: [
      { type: 'ContinuousArchiving', status, message: 'no bucket', lastTransitionTime: '2026-11-02T09:00:00Z' },
    ],
  })
  const states: [string, string, string | undefined, Partial<Parameters<typeof recoveryOf>[0]>][] = [
    ['is disabled where nothing is backed up', 'Disabled', undefined, { isBackedUp: false }],
    ['is healthy before the engine said anything', 'Healthy', undefined, { engine: undefined }],
    ['is healthy while the engine says so', 'Healthy', undefined, { engine: engine('True') }],
    ['fails since the engine says so', 'Failing', '2026-11-02T09:00:00Z', { engine: engine('False') }],
    ['is suspended since it was first seen', 'Suspended', NOW, { isSuspended: true, engine: engine('False') }],
    [
      'stays suspended since then',
      'Suspended',
      '2026-11-01T00:00:00Z',
      { isSuspended: true, previous: { archivingStoppedAt: '2026-11-01T00:00:00Z' } },
    ],
  ]
  for (const [name, archiving, stoppedAt, given] of states) {
    it(name, () => {
      const base = { isBackedUp: true, isSuspended: false, engine: engine('True'), previous: {}, now: NOW }
      expect(recoveryOf({ ...base, ...given })).to.include({ archiving, stoppedAt })
    })
  }

  const gaps: [string, object[], Partial<Parameters<typeof archivingGaps>[0]>][] = [
    ['has no gap', [], {}],
    ['opens a gap when it is suspended', [{ from: NOW }], { isSuspended: true }],
    [
      'keeps the gap open while it is suspended',
      [{ from: '2026-11-01T00:00:00Z' }],
      { isSuspended: true, previous: { archivingGaps: [{ from: '2026-11-01T00:00:00Z' }] } },
    ],
    [
      'keeps it open until there is a new base',
      [{ from: '2026-11-01T00:00:00Z' }],
      { previous: { archivingGaps: [{ from: '2026-11-01T00:00:00Z' }] }, basesStartedAt: ['2026-10-01T00:00:00Z'] },
    ],
    [
      'closes it with the first base after it',
      [{ from: '2026-11-01T00:00:00Z', to: '2026-11-01T05:00:00Z' }],
      {
        previous: { archivingGaps: [{ from: '2026-11-01T00:00:00Z' }] },
        basesStartedAt: ['2026-11-01T09:00:00Z', '2026-11-01T05:00:00Z'],
      },
    ],
    [
      'forgets one that lies before the window',
      [],
      {
        previous: { archivingGaps: [{ from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' }] },
        firstRecoverableAt: '2026-10-20T00:00:00Z',
      },
    ],
  ]
  for (const [name, expected, given] of gaps) {
    it(name, () => {
      const base = { previous: {}, isSuspended: false, now: NOW, basesStartedAt: [], firstRecoverableAt: undefined }
      expect(archivingGaps({ ...base, ...given })).to.deep.equal(expected)
    })
  }
})
