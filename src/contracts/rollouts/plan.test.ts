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
/** With another declaration of one component. */
const withPart = (name: string, more: Partial<PlanComponent>) => ({
  components: COMPONENTS.map((one) => (one.name === name ? { ...one, ...more } : one)),
})
const withRelease = (name: string, more: Partial<PlanRelease>, version = '1.1.0') => ({
  releases: [...RELEASES.filter(({ component }) => component !== name), release(name, version, more)],
})

describe('the batches of a plan', () => {
  const cases: [what: string, targets: string[], expected: string[]][] = [
    ['hold one component', ['storage'], ['Components 10: storage']],
    [
      'begin with charts of others, one at a time, in the order of their dependencies',
      ['cnpg', 'cert-manager'],
      ['ThirdPartyChart 30: cert-manager', 'ThirdPartyChart 30: cnpg'],
    ],
    [
      'go on with definitions, the platform step, the lifecycle module alone, and the rest',
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
      'keep what depends on another for later, also over one that stays',
      ['facade', 'storage'],
      ['Components 10: storage', 'Components 10: facade'],
    ],
    [
      'roll together what does not',
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

  it('end where components need each other', () => {
    const components = [part({ name: 'a', dependsOn: needs('b') }), part({ name: 'b', dependsOn: needs('a') })]
    const releases = [release('a', '1.1.0'), release('b', '1.1.0')]
    const { batches } = plan({ a: '1.1.0', b: '1.1.0' }, { components, releases })
    expect(batches.map((batch) => batch.components)).to.deep.equal([['a', 'b']])
  })
})

describe('a plan adds', () => {
  const pinning = withRelease('facade', { pins: { cnpg: '1.1.0' } })
  const names = ({ items }: ReturnType<typeof plan>) =>
    items.map(({ component, addedBy }) => `${component} by ${addedBy}`)

  const cases: [what: string, targets: Record<string, string>, change: Partial<PlanInput>, expected: string[]][] = [
    ['the chart that a module was made for', { facade: '1.1.0' }, pinning, ['facade by Caller', 'cnpg by Pin']],
    [
      'not one that the caller leaves out',
      { facade: '1.1.0' },
      { ...pinning, unselected: ['cnpg'] },
      ['facade by Caller'],
    ],
    [
      'not one that has that version',
      { facade: '1.1.0' },
      { ...pinning, ...withPart('cnpg', { installedVersion: '1.1.0' }) },
      ['facade by Caller'],
    ],
    [
      'not one that is not installed',
      { facade: '1.1.0' },
      { ...pinning, ...withPart('cnpg', { installedVersion: undefined }) },
      ['facade by Caller'],
    ],
    [
      'what installs the platform with its definitions',
      { crds: '1.1.0' },
      {},
      ['crds by Caller', 'installer by CrdBundle'],
    ],
    [
      'the charts that what installs the platform was made for',
      { crds: '1.1.0' },
      withRelease('installer', { pins: { cnpg: '1.1.0' } }),
      ['crds by Caller', 'installer by CrdBundle', 'cnpg by Pin'],
    ],
    ['nothing to a component that has its version', { storage: '1.0.0', facade: '1.1.0' }, {}, ['facade by Caller']],
    ['a component again if its values have changed', { storage: '1.0.0' }, { kind: 'Target' }, ['storage by Caller']],
  ]
  for (const [what, targets, change, expected] of cases)
    it(what, () => {
      const made = plan(targets, change)
      expect(made.problems).to.deep.equal([])
      expect(names(made)).to.deep.equal(expected)
    })

  it('how far each can be taken back', () => {
    const { items } = plan(
      { crds: '1.1.0', cnpg: '1.1.0', storage: '1.1.0', facade: '1.1.0' },
      { releases: RELEASES.map((one) => (one.component === 'cnpg' ? { ...one, migratesDatabase: true } : one)) },
    )
    const back = Object.fromEntries(items.map(({ component, isReversible }) => [component, isReversible]))
    expect(back).to.deep.equal({ crds: false, installer: false, cnpg: false, storage: true, facade: true })
  })
})

describe('a plan has the problem', () => {
  const cases: [code: string, why: string, targets: Record<string, string>, change: Partial<PlanInput>][] = [
    ['ReleaseMissing', 'of a version that no release has', { storage: '9.9.9' }, {}],
    ['ReleaseMissing', 'of a component that nobody knows', { nothing: '1.1.0' }, {}],
    [
      'SchemaBreaking',
      'of a release that breaks a schema',
      { storage: '1.1.0' },
      withRelease('storage', { isSchemaBreaking: true }),
    ],
    [
      'FromVersionTooOld',
      'of a release that follows newer ones only',
      { storage: '1.1.0' },
      withRelease('storage', { minimumFromVersion: '1.0.5' }),
    ],
    [
      'MinorSkipped',
      'of a chart that would skip a minor version',
      { cnpg: '1.3.0' },
      withRelease('cnpg', { requiredMinor: '1.2' }, '1.3.0'),
    ],
    [
      'CrdBundleMissing',
      'of a release without its definitions',
      { storage: '1.1.0' },
      withRelease('storage', { crdBundleVersion: '1.1.0' }),
    ],
    ['ManualUpgrade', 'of a chart that people upgrade', { cnpg: '1.1.0' }, withPart('cnpg', { isManualUpgrade: true })],
    [
      'PinConflict',
      'of a chart that the caller wants at another version',
      { facade: '1.1.0', cnpg: '1.1.0' },
      withRelease('facade', { pins: { cnpg: '1.0.5' } }),
    ],
    [
      'PinConflict',
      'of a chart that is moved from under a module that was made for what is installed',
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
      'of a component that needs a newer one',
      { facade: '1.1.0' },
      withPart('facade', { dependsOn: [{ name: 'identity', constraint: '>=1.1.0' }] }),
    ],
    [
      'DependencyUnmet',
      'of one that another does not work with',
      { identity: '1.1.0' },
      withPart('facade', { dependsOn: [{ name: 'identity', constraint: '<1.1.0' }] }),
    ],
    ['DowngradeRefused', 'of an older version', { storage: '0.9.0' }, withRelease('storage', {}, '0.9.0')],
    ['NothingToDo', 'of no change at all', { storage: '1.0.0' }, {}],
  ]
  for (const [code, why, targets, change] of cases)
    it(`${code}: ${why}`, () => {
      const { problems } = plan(targets, change)
      expect(problems.map((problem) => problem.code)).to.deep.equal([code])
      expect(problems[0]?.message).to.match(/\.$/)
    })

  it('no more once the definitions are in it', () => {
    const change = withRelease('storage', { crdBundleVersion: '1.1.0' })
    expect(plan({ storage: '1.1.0', crds: '1.1.0' }, change).problems).to.deep.equal([])
  })
})
