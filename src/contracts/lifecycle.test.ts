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

describe('compareSemver, semverSortKey, isSameVersion, satisfiesConstraint and releaseName', () => {
  it('order versions by Semantic Versioning, with and without a leading v', () => {
    expect([...sorted].reverse().sort(compareSemver)).to.deep.equal(sorted)
  })

  it('build sort keys with the same order', () => {
    expect([...sorted].reverse().sort((a, b) => (semverSortKey(a) < semverSortKey(b) ? -1 : 1))).to.deep.equal(sorted)
  })

  it('ignore a leading v', () => {
    expect(isSameVersion('v1.2.0', '1.2.0')).to.equal(true)
    expect(isSameVersion(undefined, undefined)).to.equal(false)
  })

  const ranges: [sentence: string, version: string, range: string | undefined, expected: boolean][] = [
    ['accept any version without a range', 'v0.1.0', undefined, true],
    ['accept a version in the range', 'v1.15.2', '>=1.15.0 <2', true],
    ['reject a version below the range', '1.14.9', '>=1.15.0', false],
    ['reject a text that is not a version', 'latest', '>=0.0.0', false],
    ['reject any version for an invalid range', '1.0.0', 'some day', false],
  ]
  for (const [sentence, version, range, expected] of ranges)
    it(sentence, () => expect(satisfiesConstraint(version, range)).to.equal(expected))

  it('treat a text that is not a version as not newer', () => {
    expect(isNewerSemver('latest', '1.0.0')).to.equal(false)
    expect(isNewerSemver('1.0.1', 'latest')).to.equal(false)
  })

  it('build a valid and different name for each release', () => {
    expect(releaseName('cert-manager', 'v1.0.0-RC.1')).to.match(/^[a-z0-9-]{1,63}$/)
    expect(releaseName('cert-manager', '1.0.0')).not.to.equal(releaseName('cert-manager', 'v1.0.0'))
  })
})

describe('newestRelease', () => {
  const release = (component: string, version: string) => ({ spec: { component, version } })
  it('prefers a release to a later pre-release', () => {
    const all = [release('a', '1.0.0'), release('a', '2.0.0-rc.1'), release('b', '3.0.0-rc.1'), release('c', '9.0.0')]
    expect(newestRelease(all, 'a')?.spec.version).to.equal('1.0.0')
    expect(newestRelease(all, 'b')?.spec.version).to.equal('3.0.0-rc.1')
    expect(newestRelease(all, 'd')).to.equal(undefined)
  })
})

describe('missingDependencies', () => {
  const installed = (name: string, installedVersion?: string) => ({ metadata: { name }, status: { installedVersion } })
  it('returns components that are not installed or too old', () => {
    const installedComponents = [installed('a', '1.0.0'), installed('b', '1.0.0'), installed('c')]
    const wanted = [{ name: 'a' }, { name: 'b', constraint: '>=1.1' }, { name: 'c' }, { name: 'd' }]
    expect(missingDependencies(wanted, installedComponents)).to.deep.equal(['b', 'c', 'd'])
  })
})

describe('componentRolloutOf', () => {
  const rollout = { version: '2.0.0', state: 'Ready' as const, isInstalled: true, message: 'fine' }
  const missing = { phase: 'EngineMissing', statusMessage: 'Flux is not there.' }
  const cases: [
    sentence: string,
    component: Omit<Parameters<typeof componentRolloutOf>[0], 'metadata'>,
    state: string,
  ][] = [
    [
      'returns Failed without an engine',
      { spec: { version: '2.0.0' }, status: { ...missing, observedGeneration: 3 } },
      'Failed',
    ],
    [
      'returns Applying if the engine was missing for an earlier generation',
      { spec: { version: '2.0.0' }, status: { ...missing, observedGeneration: 2 } },
      'Applying',
    ],
    ['returns Applying if the spec has another version', { spec: { version: '1.0.0' } }, 'Applying'],
    ["returns Applying before the controller's first pass", { spec: { version: '2.0.0' } }, 'Applying'],
    ['returns the state that the controller reported', { spec: { version: '2.0.0' }, status: { rollout } }, 'Ready'],
    [
      'returns Applying while the last request is not observed',
      { spec: { version: '2.0.0', requestedAt: 'now' }, status: { rollout } },
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

describe('holdsLifecycleLock', () => {
  const cases: [sentence: string, status: Parameters<typeof holdsLifecycleLock>[0], holds: boolean][] = [
    ['is true while an install runs', { state: 'Running', step: 'Checking' }, true],
    ['is true for an install that paused after its first change', { state: 'Paused', step: 'Chart' }, true],
    ['is false for an install that paused before', { state: 'Paused', step: 'Checking' }, false],
    ['is false for a queued install', { state: 'Queued' }, false],
    ['is false for a finished install', { state: 'Failed', step: 'Chart' }, false],
    ['is false without a status', undefined, false],
  ]
  for (const [sentence, status, holds] of cases) it(sentence, () => expect(holdsLifecycleLock(status)).to.equal(holds))
})
