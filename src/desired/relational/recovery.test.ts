import { expect } from 'chai'
import { archivingGaps, type EngineView, recoveryOf, storeRetention } from './index.ts'

describe('storeRetention', () => {
  const cases: [string, number | undefined, Parameters<typeof storeRetention>[1]][] = [
    ['returns the configured days without snapshots', 14, []],
    ['returns the longer retention of a snapshot', 90, [{ kind: 'Manual', retentionDays: 90 }]],
    ['ignores a shorter retention of a snapshot', 14, [{ kind: 'Final', retentionDays: 3 }]],
    ['returns nothing with a snapshot that is kept until it is deleted', undefined, [{ kind: 'Manual' }]],
    ['ignores scheduled snapshots', 14, [{ kind: 'Scheduled' }]],
  ]
  for (const [name, days, snapshots] of cases) {
    it(name, () => expect(storeRetention(14, snapshots)).to.equal(days))
  }
})

describe('recoveryOf and archivingGaps', () => {
  const NOW = '2026-11-02T10:00:00Z'
  const engine = (status: string): EngineView => ({
    phase: '',
    readyInstances: 1,
    currentPrimary: 'x',
    conditions: [
      { type: 'Ready', status: 'False', message: 'starting', lastTransitionTime: '2026-11-02T08:00:00Z' },
      { type: 'ContinuousArchiving', status, message: 'no bucket', lastTransitionTime: '2026-11-02T09:00:00Z' },
    ],
  })
  const states: [string, string, string | undefined, Partial<Parameters<typeof recoveryOf>[0]>][] = [
    ['returns Disabled without backups', 'Disabled', undefined, { isBackedUp: false }],
    ['returns Healthy before the engine reports', 'Healthy', undefined, { engine: undefined }],
    ['returns Healthy while the engine reports success', 'Healthy', undefined, { engine: engine('True') }],
    [
      "returns Failing since the transition of the engine's condition",
      'Failing',
      '2026-11-02T09:00:00Z',
      { engine: engine('False') },
    ],
    ['returns Suspended since now', 'Suspended', NOW, { isSuspended: true, engine: engine('False') }],
    [
      'returns Suspended since the recorded time',
      'Suspended',
      '2026-11-01T00:00:00Z',
      { isSuspended: true, previous: { archivingStoppedAt: '2026-11-01T00:00:00Z' } },
    ],
  ]
  for (const [name, archiving, stoppedAt, given] of states) {
    it(name, () => {
      const base = { isBackedUp: true, isSuspended: false, engine: engine('True'), previous: {}, now: NOW }
      const archivingMessage = archiving === 'Failing' ? 'no bucket' : undefined
      expect(recoveryOf({ ...base, ...given })).to.deep.equal({ archiving, archivingMessage, stoppedAt })
    })
  }

  const gaps: [string, object[], Partial<Parameters<typeof archivingGaps>[0]>][] = [
    ['returns no gap', [], {}],
    ['opens a gap at a suspension', [{ from: NOW }], { isSuspended: true }],
    [
      'keeps a gap open during the suspension',
      [{ from: '2026-11-01T00:00:00Z' }],
      { isSuspended: true, previous: { archivingGaps: [{ from: '2026-11-01T00:00:00Z' }] } },
    ],
    [
      'keeps a gap open until there is a new base backup',
      [{ from: '2026-11-01T00:00:00Z' }],
      { previous: { archivingGaps: [{ from: '2026-11-01T00:00:00Z' }] }, basesStartedAt: ['2026-10-01T00:00:00Z'] },
    ],
    [
      'closes a gap with the first base backup after it',
      [{ from: '2026-11-01T00:00:00Z', to: '2026-11-01T05:00:00Z' }],
      {
        previous: { archivingGaps: [{ from: '2026-11-01T00:00:00Z' }] },
        basesStartedAt: ['2026-11-01T09:00:00Z', '2026-11-01T05:00:00Z'],
      },
    ],
    [
      'opens a second gap at the next suspension',
      [{ from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' }, { from: NOW }],
      {
        isSuspended: true,
        previous: { archivingGaps: [{ from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' }] },
      },
    ],
    [
      'keeps the end of a closed gap, and closes the last one',
      [
        { from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' },
        { from: '2026-11-01T00:00:00Z', to: '2026-11-01T05:00:00Z' },
      ],
      {
        previous: {
          archivingGaps: [
            { from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' },
            { from: '2026-11-01T00:00:00Z' },
          ],
        },
        basesStartedAt: ['2026-10-03T00:00:00Z', '2026-11-01T05:00:00Z'],
      },
    ],
    [
      'keeps a closed gap as it is',
      [{ from: '2026-10-01T00:00:00Z', to: '2026-10-03T00:00:00Z' }],
      {
        previous: { archivingGaps: [{ from: '2026-10-01T00:00:00Z', to: '2026-10-03T00:00:00Z' }] },
        basesStartedAt: ['2026-10-02T00:00:00Z'],
      },
    ],
    [
      'drops a gap before the recovery window',
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
