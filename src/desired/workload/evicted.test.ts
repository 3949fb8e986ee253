import { expect } from 'chai'
import { COMPONENT_LABEL } from '../../contracts/containerinstances.ts'
import { describeEviction, endedPodsToDelete, findEvictionProblem } from './evicted.ts'
import type { LivePod } from './podProblems.ts'

const NOON = Date.parse('2026-01-01T12:00:00Z')
const OVER_LIMIT = 'Pod ephemeral local storage usage exceeds the total limit of containers 4Gi. '

const made = (name: string, status: LivePod['status'], labels: Record<string, string> = {}): LivePod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { 'pod-template-hash': 'now', [COMPONENT_LABEL]: 'web', ...labels } },
  status: status ?? {},
})
const evicted = (name: string, at: string, message = OVER_LIMIT, labels = {}) =>
  made(
    name,
    {
      ...{ phase: 'Failed', reason: 'Evicted', message },
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: `2026-01-01T${at}:00Z` }],
      containerStatuses: [{ state: { terminated: { exitCode: 137, reason: 'Error' } } }],
    },
    labels,
  )
const running = (name: string, ready: boolean, labels = {}, creationTimestamp = '2026-01-01T11:50:00Z'): LivePod => {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] }
  const { metadata, ...pod } = made(name, status, labels)
  return { ...pod, metadata: { ...metadata, creationTimestamp } }
}

describe('describeEviction', () => {
  const cases: [sentence: string, message: string, expected: string][] = [
    ['explains an exceeded limit of the pod', OVER_LIMIT, 'it wrote more to the disk than its limit of 4Gi'],
    [
      'explains an exceeded limit of the container',
      'Container web exceeded its local ephemeral storage limit "512Mi". ',
      'it wrote more to the disk than its limit of 512Mi',
    ],
    [
      'explains a full volume',
      'Usage of EmptyDir volume "cache" exceeds the limit "1.5Gi". ',
      'its volume "cache" holds more than 1.5Gi',
    ],
    [
      'explains a full disk of the node, without names of its other containers',
      'The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 900Mi. Container secret-name was using 3Gi, request is 128Mi. ',
      'the disk of its node is full',
    ],
    ['explains memory pressure of the node', 'The node was low on resource: memory. ', 'its node ran short of memory'],
    ['has a general reason for others', 'Node is shutting down.', 'its node could not keep it'],
  ]
  for (const [sentence, message, expected] of cases)
    it(sentence, () => {
      const pod = evicted('web-1', '11:50', message)
      expect(describeEviction('It', pod)).to.equal(`It was evicted at 2026-01-01T11:50:00Z: ${expected}.`)
    })
})

describe('findEvictionProblem', () => {
  type Case = [sentence: string, pods: LivePod[], ended: LivePod[], expected: string | undefined]
  const words = 'A copy of it was evicted at 2026-01-01T11:50:00Z: it wrote more to the disk than its limit of 4Gi.'
  const pressed = evicted('web-0', '11:50', 'The node was low on resource: ephemeral-storage. ')
  const cases: Case[] = [
    ['returns an eviction without a replacement', [], [evicted('web-0', '11:50')], `CrashLooping: ${words}`],
    [
      'returns an eviction whose replacement is not ready',
      [running('web-1', false)],
      [evicted('web-0', '11:50')],
      `CrashLooping: ${words}`,
    ],
    ['returns nothing once the replacement is ready', [running('web-1', true)], [evicted('web-0', '11:50')], undefined],
    [
      'returns an eviction beside an older copy',
      [running('web-1', true, {}, '2026-01-01T11:00:00Z')],
      [evicted('web-0', '11:50')],
      `CrashLooping: ${words}`,
    ],
    [
      'returns nothing for a pod of another template',
      [running('web-1', false, { 'pod-template-hash': 'next' })],
      [evicted('web-0', '11:50')],
      undefined,
    ],
    [
      'returns PartiallyAvailable for a full disk of the node',
      [],
      [pressed],
      'PartiallyAvailable: A copy of it was evicted at 2026-01-01T11:50:00Z: the disk of its node is full.',
    ],
    ['returns nothing for another failure', [], [made('web-0', { phase: 'Failed' })], undefined],
  ]
  for (const [sentence, pods, ended, expected] of cases)
    it(sentence, () => {
      const found = findEvictionProblem('it', pods, ended)
      expect(found === undefined ? undefined : 'message' in found && `${found.reason}: ${found.message}`).to.equal(
        expected,
      )
    })
})

describe('endedPodsToDelete', () => {
  const names = (ended: LivePod[]) => endedPodsToDelete(ended, NOON).map(({ metadata }) => metadata.name)

  it('keeps the last eviction of each component', () =>
    expect(
      names([
        evicted('web-0', '11:10'),
        evicted('web-2', '11:40'),
        evicted('web-1', '11:30'),
        evicted('api-0', '11:05', OVER_LIMIT, { [COMPONENT_LABEL]: 'api' }),
      ]),
    ).to.deep.equal(['web-0', 'web-1']))

  it('deletes evictions after an hour and other failures at once', () =>
    expect(names([evicted('web-0', '11:00'), made('web-1', { phase: 'Failed', reason: 'Shutdown' })])).to.deep.equal([
      'web-0',
      'web-1',
    ]))
})
