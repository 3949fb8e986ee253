import { expect } from 'chai'
import { CREATED_BY_ANNOTATION } from '../../core/labels.ts'
import type { Backup } from '../backups.ts'
import {
  blockingBackup,
  buildBackupFromSchedule,
  isPlatformBackup,
  platformBackupName,
  platformFailureOf,
  triggerOf,
} from './backups.ts'
import { PLATFORM_SCHEDULE, SCHEDULE_LABEL, TRIGGER_ANNOTATION } from './names.ts'

const NOW = Date.parse('2026-06-02T12:00:00Z')
const HOUR = 3_600_000

const backup = (name: string, phase: string, hoursAgo: number, trigger?: string): Backup => ({
  ...{ apiVersion: 'velero.io/v1', kind: 'Backup' },
  metadata: { name, ...(trigger !== undefined && { annotations: { [TRIGGER_ANNOTATION]: trigger } }) },
  status: { phase, startTimestamp: new Date(NOW - hoursAgo * HOUR).toISOString() },
})

describe('backups of the platform', () => {
  it('have the label of its Schedule', () => {
    const labelled = (name: string) => isPlatformBackup({ metadata: { name: 'a', labels: { [SCHEDULE_LABEL]: name } } })
    expect([labelled(PLATFORM_SCHEDULE), labelled('of-a-tenant')]).to.deep.equal([true, false])
    expect(isPlatformBackup({ metadata: { name: PLATFORM_SCHEDULE } })).to.equal(false)
  })

  it('are Scheduled unless their annotation says another trigger', () => {
    const triggers = [undefined, 'Manual', 'Rollout', 'Invented'].map((one) => triggerOf(backup('a', '', 0, one)))
    expect(triggers).to.deep.equal(['Scheduled', 'Manual', 'Rollout', 'Scheduled'])
  })

  const blocking: [string, Backup[], string | undefined][] = [
    ['one that was requested and is in progress', [backup('a', 'InProgress', 2.9, 'Manual')], 'a'],
    ['none that was requested three hours ago', [backup('a', 'InProgress', 3, 'Manual')], undefined],
    ['none that is scheduled', [backup('a', 'InProgress', 1)], undefined],
    ['none that has ended', [backup('a', 'Completed', 1, 'Manual')], undefined],
    ['the newest of two', [backup('a', 'New', 2, 'Manual'), backup('b', 'New', 1, 'Manual')], 'b'],
  ]
  for (const [title, given, expected] of blocking)
    it(`are blocked by ${title}`, () => expect(blockingBackup(given, NOW)?.metadata.name).to.equal(expected))

  it('end with each final phase of Velero', () => {
    const phases = [
      'Completed',
      'PartiallyFailed',
      'Failed',
      'FailedValidation',
      'Deleting',
      'WaitingForPluginOperations',
    ]
    const blocks = phases.map((phase) => blockingBackup([backup('a', phase, 1, 'Manual')], NOW) !== undefined)
    expect(blocks).to.deep.equal([false, false, false, false, false, true])
  })

  it("say why they failed in Velero's words, on one line", () => {
    const failed = (status: object) =>
      platformFailureOf({ ...backup('a', 'Failed', 1), status: { phase: 'Failed', ...status } })
    expect(failed({ failureReason: 'no bucket' })).to.equal('no bucket')
    expect(failed({ validationErrors: ['one', 'two'] })).to.equal('one; two')
    expect(failed({ failureReason: 'x'.repeat(2_000) })).to.have.length(1_024)
    expect(failed({})).to.be.a('string').that.is.not.empty
    expect(platformFailureOf(backup('a', 'Completed', 1))).to.equal(undefined)
  })

  it('back up what the Schedule does, and name who requested them', () => {
    const schedule = {
      ...{ apiVersion: 'velero.io/v1', kind: 'Schedule', metadata: { name: PLATFORM_SCHEDULE, namespace: 'velero' } },
      spec: { template: { ttl: '720h', metadata: { labels: { a: 'b' } } } },
    }
    const { metadata, spec } = buildBackupFromSchedule(schedule, { name: 'a', trigger: 'Manual', startedBy: 'ann' })
    expect(spec).to.deep.equal({ ttl: '720h' })
    expect(metadata).to.deep.equal({
      ...{ name: 'a', namespace: 'velero', labels: { [SCHEDULE_LABEL]: PLATFORM_SCHEDULE } },
      annotations: { [TRIGGER_ANNOTATION]: 'Manual', [CREATED_BY_ANNOTATION]: 'ann' },
    })
    expect(platformBackupName('Rollout', NOW, 'x1')).to.equal('platform-rollout-20260602120000-x1')
  })
})
