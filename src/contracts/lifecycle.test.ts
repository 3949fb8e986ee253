import { expect } from 'chai'
import {
  compareSemver,
  componentRolloutOf,
  holdsLifecycleLock,
  isNewerSemver,
  isSameVersion,
  missingDependencies,
  newestRelease,
  releaseName,
  satisfiesConstraint,
  semverSortKey,
} from './lifecycle.ts'

const sorted = ['1.0.0-alpha', '1.0.0-alpha.2', '1.0.0-alpha.10', '1.0.0-rc.1', '1.0.0', 'v1.2.0', '1.10.0', '10.0.0']

describe('versions of components', () => {
  it('are ordered as Semantic Versioning says, with and without a v', () => {
    expect([...sorted].reverse().sort(compareSemver)).to.deep.equal(sorted)
  })

  it('have an order that texts show too', () => {
    expect([...sorted].reverse().sort((a, b) => (semverSortKey(a) < semverSortKey(b) ? -1 : 1))).to.deep.equal(sorted)
  })

  it('are the same with and without a v', () => {
    expect(isSameVersion('v1.2.0', '1.2.0')).to.equal(true)
    expect(isSameVersion(undefined, undefined)).to.equal(false)
  })

  const ranges: [sentence: string, version: string, range: string | undefined, expected: boolean][] = [
    ['any version does without a range', 'v0.1.0', undefined, true],
    ['one in the range does', 'v1.15.2', '>=1.15.0 <2', true],
    ['one before it does not', '1.14.9', '>=1.15.0', false],
    ['what is no version does not', 'latest', '>=0.0.0', false],
    ['a range that nobody can read is met by none', '1.0.0', 'some day', false],
  ]
  for (const [sentence, version, range, expected] of ranges)
    it(sentence, () => expect(satisfiesConstraint(version, range)).to.equal(expected))

  it('that are no versions are newer than nothing', () => {
    expect(isNewerSemver('latest', '1.0.0')).to.equal(false)
    expect(isNewerSemver('1.0.1', 'latest')).to.equal(false)
  })

  it('have a release each, whose name can be one', () => {
    expect(releaseName('cert-manager', 'v1.0.0-RC.1')).to.match(/^[a-z0-9-]{1,63}$/)
    expect(releaseName('cert-manager', '1.0.0')).not.to.equal(releaseName('cert-manager', 'v1.0.0'))
  })
})

describe('the newest release', () => {
  const release = (component: string, version: string) => ({ spec: { component, version } })
  it('is no preview, unless there is nothing else', () => {
    const all = [release('a', '1.0.0'), release('a', '2.0.0-rc.1'), release('b', '3.0.0-rc.1'), release('c', '9.0.0')]
    expect(newestRelease(all, 'a')?.spec.version).to.equal('1.0.0')
    expect(newestRelease(all, 'b')?.spec.version).to.equal('3.0.0-rc.1')
    expect(newestRelease(all, 'd')).to.equal(undefined)
  })
})

describe('components that must be there first', () => {
  const installed = (name: string, installedVersion?: string) => ({ metadata: { name }, status: { installedVersion } })
  it('are missing while they are not installed, or too old', () => {
    const there = [installed('a', '1.0.0'), installed('b', '1.0.0'), installed('c')]
    const wanted = [{ name: 'a' }, { name: 'b', constraint: '>=1.1' }, { name: 'c' }, { name: 'd' }]
    expect(missingDependencies(wanted, there)).to.deep.equal(['b', 'c', 'd'])
  })
})

describe('how far the cluster has come with a version', () => {
  const told = { version: '2.0.0', state: 'Ready' as const, isInstalled: true, message: 'fine' }
  const missing = { phase: 'EngineMissing', statusMessage: 'Flux is not there.' }
  const cases: [
    sentence: string,
    component: Omit<Parameters<typeof componentRolloutOf>[0], 'metadata'>,
    state: string,
  ][] = [
    [
      'has failed where nobody is there to carry it out',
      { spec: { version: '2.0.0' }, status: { ...missing, observedGeneration: 3 } },
      'Failed',
    ],
    [
      'is not known where that was said of another wish',
      { spec: { version: '2.0.0' }, status: { ...missing, observedGeneration: 2 } },
      'Applying',
    ],
    ['is not known while the component is to have another', { spec: { version: '1.0.0' } }, 'Applying'],
    ['is not known before its controller has looked', { spec: { version: '2.0.0' } }, 'Applying'],
    ['is what its controller says', { spec: { version: '2.0.0' }, status: { rollout: told } }, 'Ready'],
    [
      'is not known while Flux has not heard of the last request',
      { spec: { version: '2.0.0', requestedAt: 'now' }, status: { rollout: told } },
      'Applying',
    ],
  ]
  for (const [sentence, component, state] of cases)
    it(sentence, () =>
      expect(componentRolloutOf({ ...component, metadata: { generation: 3 } }, { version: '2.0.0' }).state).to.equal(
        state,
      ),
    )
})

describe('an install', () => {
  const cases: [sentence: string, status: Parameters<typeof holdsLifecycleLock>[0], holds: boolean][] = [
    ['has its turn while it runs', { state: 'Running', step: 'Checking' }, true],
    ['keeps it where it paused after it had begun to change something', { state: 'Paused', step: 'Chart' }, true],
    ['gives it back where it paused before', { state: 'Paused', step: 'Checking' }, false],
    ['has none while it waits', { state: 'Queued' }, false],
    ['has none once it has ended', { state: 'Failed', step: 'Chart' }, false],
    ['has none before it was seen', undefined, false],
  ]
  for (const [sentence, status, holds] of cases) it(sentence, () => expect(holdsLifecycleLock(status)).to.equal(holds))
})
