import { expect } from 'chai'
import { eventsAbout, readClusterDetails } from './kubernetesDetails.ts'

const JOB = { kind: 'PlatformJob', name: 'report', shortNames: ['pjob'] }
const event = (kind: string, name: string, reason: string, eventTime: string) => ({
  regarding: { kind, name },
  type: 'Warning',
  reason,
  note: `${reason}.`,
  eventTime,
})

describe('cluster details of a resource', () => {
  it('contain the events of the resource, its workload and its pods, oldest first', () => {
    const events = [
      event('Pod', 'pjob-report-x', 'Failed', '2026-01-03T00:00:00Z'),
      event('Job', 'pjob-report', 'FailedCreate', '2026-01-02T00:00:00Z'),
      event('PlatformJob', 'report', 'ReferenceMissing', '2026-01-01T00:00:00Z'),
      event('Pod', 'pjob-report-more-x', 'Other', '2026-01-04T00:00:00Z'),
      event('Job', 'pjob-report-more', 'Other', '2026-01-04T00:00:00Z'),
      event('PlatformJob', 'report-more', 'Other', '2026-01-04T00:00:00Z'),
      event('VectorCluster', 'report', 'Other', '2026-01-04T00:00:00Z'),
    ]
    const told = eventsAbout(JOB, ['pjob-report-x'], events)
    expect(told.map(({ reason, object }) => `${reason} ${object}`)).to.deep.equal([
      'ReferenceMissing PlatformJob report',
      'FailedCreate Job pjob-report',
      'Failed Pod pjob-report-x',
    ])
  })

  it('contain at most the 10 newest events', () => {
    const many = Array.from({ length: 30 }, (_, at) =>
      event('PlatformJob', 'report', `R${at + 10}`, `2026-01-${at + 10}`),
    )
    expect(eventsAbout(JOB, [], many).map(({ reason }) => reason))
      .to.include('R39')
      .and.to.have.length(10)
  })

  const PLACE = { ...JOB, apiVersion: 'compute.freehold.dev/v1alpha1', plural: 'platformjobs', namespace: 'g' }
  it('are undefined if the caller may read nothing', async () => {
    expect(await readClusterDetails(PLACE, async () => ({ status: 403, body: {} }))).to.equal(undefined)
  })

  it('contain no events of an earlier resource with the same name', async () => {
    const items = [
      event('PlatformJob', 'report', 'TearingDown', '2026-01-01T00:00:00Z'),
      event('Job', 'pjob-report', 'Killed', '2026-01-01T00:00:00Z'),
      event('PlatformJob', 'report', 'Completed', '2026-01-02T00:00:00.500000Z'),
    ]
    const metadata = { creationTimestamp: '2026-01-02T00:00:00Z' }
    const story = await readClusterDetails(PLACE, async (path) => ({
      status: 200,
      body: path.endsWith('/events') ? { items } : { metadata, items: [] },
    }))
    expect(story?.events.map(({ reason }) => reason)).to.deep.equal(['Completed'])
  })

  it('contain the conditions if only events may not be read', async () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'ReferenceMissing', message: 'No vault.' }]
    const status = { statusMessage: 'No vault.', conditions }
    const story = await readClusterDetails(PLACE, async (path) =>
      path.includes('/platformjobs/report') ? { status: 200, body: { status } } : { status: 403, body: {} },
    )
    expect(story).to.deep.equal({ message: 'No vault.', conditions, events: [] })
  })
})
