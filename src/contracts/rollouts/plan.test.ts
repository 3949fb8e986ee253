import { expect } from 'chai'
import { type PlanComponent, type PlanInput, type PlanRelease, planRollout } from './plan.ts'

type Given = Partial<PlanComponent> & { name: string }
const part = (given: Given): PlanComponent => ({
  ...{ kind: 'Module', installedVersion: '1.0.0', isManualUpgrade: false, migratesDatabase: false, dependsOn: [] },
  ...given,
})
const chart = (name: string, more: Partial<PlanComponent> = {}) => part({ name, kind: 'ThirdPartyChart', ...more })
const release = (component: string, version: string, more: Partial<PlanRelease> = {}): PlanRelease => ({
  ...{ component, version, isSchemaBreaking: false, migratesDatabase: false, pins: {} },
  ...more,
})
const needs = (...names: string[]) => names.map((name) => ({ name }))

const COMPONENTS: PlanComponent[] = [
  chart('cert-manager'),
  chart('cnpg', { dependsOn: needs('cert-manager') }),
  part({ name: 'crds', kind: 'CrdBundle' }),
  part({ name: 'installer', kind: 'PlatformStep' }),
  part({ name: 'lifecycle', kind: 'LifecycleModule' }),
  part({ name: 'facade', dependsOn: needs('identity') }),
  part({ name: 'identity', dependsOn: needs('storage') }),
  part({ name: 'storage' }),
]
const RELEASES = COMPONENTS.map(({ name }) => release(name, '1.1.0'))

const plan = (targetVersions: Record<string, string>, change: Partial<PlanInput> = {}) =>
  planRollout({
    components: COMPONENTS,
    releases: RELEASES,
    targetVersions,
    unselected: [],
    kind: 'Components',
    ...change,
  })
/** Replaces the declaration of one component. */
const withPart = (name: string, more: Partial<PlanComponent>) => ({
  components: COMPONENTS.map((one) => (one.name === name ? { ...one, ...more } : one)),
})
const withRelease = (name: string, more: Partial<PlanRelease>, version = '1.1.0') => ({
  releases: [...RELEASES.filter(({ component }) => component !== name), release(name, version, more)],
})

describe('planRollout, batches', () => {
  const cases: [what: string, targets: string[], expected: string[]][] = [
    ['contain a single component', ['storage'], ['Components 10: storage']],
    [
      'begin with third-party charts, one at a time, by dependency',
      ['cnpg', 'cert-manager'],
      ['ThirdPartyChart 30: cert-manager', 'ThirdPartyChart 30: cnpg'],
    ],
    [
      'continue with CRDs, the platform step, the lifecycle module and the other components',
      ['storage', 'lifecycle', 'installer', 'crds', 'cnpg'],
      [
        'ThirdPartyChart 30: cnpg',
        'CrdBundle 10: crds',
        'PlatformStep 10: installer',
        'LifecycleModule 10: lifecycle',
        'Components 10: storage',
      ],
    ],
    [
      'separate dependent components, even across one that is not updated',
      ['facade', 'storage'],
      ['Components 10: storage', 'Components 10: facade'],
    ],
    [
      'combine independent components',
      ['facade', 'lifecycle'],
      ['LifecycleModule 10: lifecycle', 'Components 10: facade'],
    ],
  ]
  for (const [what, targets, expected] of cases)
    it(what, () => {
      const { batches, problems } = plan(Object.fromEntries(targets.map((name) => [name, '1.1.0'])))
      expect(problems.filter(({ code }) => code !== 'DependencyUnmet')).to.deep.equal([])
      expect(
        batches.map(
          ({ kind, timeLimitMinutes, components }) => `${kind} ${timeLimitMinutes}: ${components.join(', ')}`,
        ),
      ).to.deep.equal(expected)
    })

  it('combine components with cyclic dependencies', () => {
    const components = [part({ name: 'a', dependsOn: needs('b') }), part({ name: 'b', dependsOn: needs('a') })]
    const releases = [release('a', '1.1.0'), release('b', '1.1.0')]
    const { batches } = plan({ a: '1.1.0', b: '1.1.0' }, { components, releases })
    expect(batches.map((batch) => batch.components)).to.deep.equal([['a', 'b']])
  })
})

describe('planRollout, items', () => {
  const pinning = withRelease('facade', { pins: { cnpg: '1.1.0' } })
  const names = ({ items }: ReturnType<typeof plan>) =>
    items.map(({ component, addedBy }) => `${component} by ${addedBy}`)

  const cases: [what: string, targets: Record<string, string>, change: Partial<PlanInput>, expected: string[]][] = [
    ['include a chart that a module pins', { facade: '1.1.0' }, pinning, ['facade by Caller', 'cnpg by Pin']],
    [
      'exclude a pinned chart that the caller unselected',
      { facade: '1.1.0' },
      { ...pinning, unselected: ['cnpg'] },
      ['facade by Caller'],
    ],
    [
      'exclude a pinned chart that already has the version',
      { facade: '1.1.0' },
      { ...pinning, ...withPart('cnpg', { installedVersion: '1.1.0' }) },
      ['facade by Caller'],
    ],
    [
      'exclude a pinned chart that is not installed',
      { facade: '1.1.0' },
      { ...pinning, ...withPart('cnpg', { installedVersion: undefined }) },
      ['facade by Caller'],
    ],
    ['include the installer with CRDs', { crds: '1.1.0' }, {}, ['crds by Caller', 'installer by CrdBundle']],
    [
      'include charts that the installer pins',
      { crds: '1.1.0' },
      withRelease('installer', { pins: { cnpg: '1.1.0' } }),
      ['crds by Caller', 'installer by CrdBundle', 'cnpg by Pin'],
    ],
    [
      'exclude a component that already has the version',
      { storage: '1.0.0', facade: '1.1.0' },
      {},
      ['facade by Caller'],
    ],
    [
      'include an up-to-date component whose values changed',
      { storage: '1.0.0' },
      { kind: 'Target' },
      ['storage by Caller'],
    ],
  ]
  for (const [what, targets, change, expected] of cases)
    it(what, () => {
      const made = plan(targets, change)
      expect(made.problems).to.deep.equal([])
      expect(names(made)).to.deep.equal(expected)
    })

  it('state whether each can be rolled back', () => {
    const { items } = plan(
      { crds: '1.1.0', cnpg: '1.1.0', storage: '1.1.0', facade: '1.1.0' },
      { releases: RELEASES.map((one) => (one.component === 'cnpg' ? { ...one, migratesDatabase: true } : one)) },
    )
    const back = Object.fromEntries(items.map(({ component, isReversible }) => [component, isReversible]))
    expect(back).to.deep.equal({ crds: false, installer: false, cnpg: false, storage: true, facade: true })
  })
})

describe('planRollout, problems', () => {
  const cases: [code: string, why: string, targets: Record<string, string>, change: Partial<PlanInput>][] = [
    ['ReleaseMissing', 'a version without a release', { storage: '9.9.9' }, {}],
    ['ReleaseMissing', 'an unknown component', { nothing: '1.1.0' }, {}],
    [
      'SchemaBreaking',
      'a release with a breaking schema change',
      { storage: '1.1.0' },
      withRelease('storage', { isSchemaBreaking: true }),
    ],
    [
      'FromVersionTooOld',
      'a release that requires a newer installed version',
      { storage: '1.1.0' },
      withRelease('storage', { minimumFromVersion: '1.0.5' }),
    ],
    [
      'MinorSkipped',
      'a chart that skips a minor version',
      { cnpg: '1.3.0' },
      withRelease('cnpg', { requiredMinor: '1.2' }, '1.3.0'),
    ],
    [
      'CrdBundleMissing',
      'a release without its CRDs',
      { storage: '1.1.0' },
      withRelease('storage', { crdBundleVersion: '1.1.0' }),
    ],
    ['ManualUpgrade', 'a chart with manual upgrades', { cnpg: '1.1.0' }, withPart('cnpg', { isManualUpgrade: true })],
    [
      'PinConflict',
      'a chart for which the caller and a pin require different versions',
      { facade: '1.1.0', cnpg: '1.1.0' },
      withRelease('facade', { pins: { cnpg: '1.0.5' } }),
    ],
    [
      'PinConflict',
      'a chart that moves away from the version that another module pins',
      { facade: '1.1.0', identity: '1.1.0' },
      {
        releases: RELEASES.map((one) => {
          const pins = { facade: { cnpg: '1.0.0' }, identity: { cnpg: '1.1.0' } }[one.component] ?? {}
          return { ...one, pins }
        }),
      },
    ],
    [
      'DependencyUnmet',
      'a component that requires a newer dependency',
      { facade: '1.1.0' },
      withPart('facade', { dependsOn: [{ name: 'identity', constraint: '>=1.1.0' }] }),
    ],
    [
      'DependencyUnmet',
      'a component whose dependents do not accept the new version',
      { identity: '1.1.0' },
      withPart('facade', { dependsOn: [{ name: 'identity', constraint: '<1.1.0' }] }),
    ],
    ['DowngradeRefused', 'an older version', { storage: '0.9.0' }, withRelease('storage', {}, '0.9.0')],
    ['NothingToDo', 'no change', { storage: '1.0.0' }, {}],
  ]
  for (const [code, why, targets, change] of cases)
    it(`report ${code} for ${why}`, () => {
      const { problems } = plan(targets, change)
      expect(problems.map((problem) => problem.code)).to.deep.equal([code])
      expect(problems[0]?.message).to.match(/\.$/)
    })

  it('omit CrdBundleMissing if the CRDs are part of the plan', () => {
    const change = withRelease('storage', { crdBundleVersion: '1.1.0' })
    expect(plan({ storage: '1.1.0', crds: '1.1.0' }, change).problems).to.deep.equal([])
  })
})
