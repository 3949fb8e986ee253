import { expect } from 'chai'
import { CHART, LifecycleWorld } from '../../../test/worlds/lifecycleWorld.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { secret } from '../../kube/builtin.ts'
import { helmRelease, ociRepository } from '../../kube/flux.ts'
import { feedDueIn } from './component.ts'

const AT = { namespace: SYSTEM_NAMESPACE }

describe('PlatformComponent and ComponentInstall controllers', () => {
  let world: LifecycleWorld
  beforeEach(() => {
    world = new LifecycleWorld()
    world.feed.push(CHART, '1.0.0')
    world.feed.push(CHART, '1.1.0', { 'lifecycle.freehold.dev/migrates-database': 'true' })
  })
  afterEach(() => world.bench.stop())

  const component = () => world.statusOf(PlatformComponent, 'shop')
  const install = (name = 'first') => world.statusOf(ComponentInstall, name)
  const wanted = (spec: object) =>
    world.bench.client.mergePatch(PlatformComponent.resource, { ...AT, name: 'shop' }, { spec })
  const resume = (resumeAt: string, name = 'first') =>
    world.bench.client.mergePatch(ComponentInstall.resource, { ...AT, name }, { spec: { requests: { resumeAt } } })

  it('record each version of the chart once', async () => {
    world.component('shop')
    await world.start()
    const { items } = await world.bench.client.list<KubeObject & { spec: object }>(ComponentRelease.resource)
    expect(items.map(({ spec }) => (spec as { version: string }).version).sort()).to.deep.equal(['1.0.0', '1.1.0'])
    expect((await component()).feed).to.include({ found: 2 })
    await world.bench.clock.advance(3_600_000)
    await world.bench.rest()
    expect((await component()).feed).to.include({ found: 0, readAt: '2026-01-01T01:00:00Z' })
  })

  it('report an unreachable registry and keep the known releases', async () => {
    world.component('shop')
    await world.start()
    world.feed.failure = 'Unreachable'
    await wanted({ refreshRequestedAt: '2026-01-01T00:00:01Z' })
    await world.bench.rest()
    const { feed } = await component()
    expect(feed).to.include({
      isUnreachable: true,
      requestedAt: '2026-01-01T00:00:01Z',
      readAt: '2026-01-01T00:00:00Z',
    })
    expect((await world.bench.client.list(ComponentRelease.resource)).items).to.have.length(2)
  })

  it('create the Flux objects and report Ready once Helm and the workloads have been ready for a while', async () => {
    world.component('shop', { version: '1.0.0', workloads: [{ kind: 'Deployment', name: 'shop' }] })
    await world.start()
    const source = await world.bench.client.get<KubeObject & { spec: { ref: object } }>(ociRepository, {
      ...{ ...AT, name: 'pcomp-shop' },
    })
    expect(source.spec.ref).to.have.keys('tag', 'digest')
    expect((await component()).state).to.equal('Installing')
    await world.flux()
    world.deployment('shop', 1)
    await world.bench.rest()
    expect((await component()).state).to.equal('Installing')
    await world.settle()
    expect(await component()).to.include({ state: 'Ready', installedVersion: '1.0.0', phase: 'Available' })
  })

  it('wait for the installation of Flux', async () => {
    world.component('shop', { version: '1.0.0' })
    await world.start({ hasFlux: false })
    expect((await component()).phase).to.equal('EngineMissing')
    world.installFlux()
    await world.bench.rest()
    expect((await component()).phase).to.equal('RollingOut')
  })

  it('report the running version of the platform itself, outside the cluster too', async () => {
    world.component('freehold', { workloads: [{ kind: 'Deployment', name: 'freehold-facade' }] })
    await world.start({ hasFlux: false })
    const status = await world.statusOf(PlatformComponent, 'freehold')
    expect(status).to.include({ state: 'Ready', installedVersion: '4.2.0', isManaged: false, isOutside: true })
    expect(status.statusMessage).to.match(/^Version 4\.2\.0 runs outside the cluster/)
  })

  it('keep the HelmRelease when the version is removed from the spec', async () => {
    world.component('shop', { version: '1.0.0' })
    await world.start()
    await world.flux()
    await world.bench.client.mergePatch(
      PlatformComponent.resource,
      { ...AT, name: 'shop' },
      { spec: { version: null } },
    )
    await world.bench.rest()
    expect((await world.bench.client.list(helmRelease)).items).to.have.length(1)
  })

  it('install the newest version step by step', async () => {
    world.component('shop')
    await world.start()
    world.install('first', { component: 'shop' })
    await world.settle()
    expect(await install()).to.include({ state: 'Running', step: 'Chart', version: '1.1.0' })
    await world.flux()
    expect(await install()).to.include({ state: 'Running', step: 'Health' })
    await world.settle()
    const { state, steps } = (await install()) as unknown as { state: unknown; steps: unknown }
    expect(state).to.equal('Succeeded')
    expect((steps as { name: string; state: string }[]).map((step) => `${step.name} ${step.state}`)).to.deep.equal([
      ...['Checking Succeeded', 'Dependencies Skipped', 'Crds Skipped', 'Chart Succeeded', 'Health Succeeded'],
      'Finished Succeeded',
    ])
  })

  it('pause an install when Helm fails and continue on resume', async () => {
    world.component('shop')
    await world.start()
    world.install('first', { component: 'shop' })
    await world.settle()
    await world.flux('no such image')
    expect(await install()).to.include({ state: 'Paused', step: 'Chart', phase: 'EngineRefused' })
    await resume('2026-01-01T00:05:00Z')
    await world.settle()
    await world.flux()
    await world.settle()
    expect(await install()).to.include({ state: 'Succeeded', resumedAt: '2026-01-01T00:05:00Z' })
  })

  it('fail an install that exceeds its deadline', async () => {
    world.component('shop')
    await world.start()
    world.install('first', { component: 'shop' })
    await world.bench.clock.advance(700_000)
    await world.bench.rest()
    expect(await install()).to.include({ state: 'Failed', step: 'Chart' })
  })

  it('grant the full deadline again on resume, after a failed health step too', async () => {
    world.component('shop', { workloads: [{ kind: 'Deployment', name: 'shop' }] })
    await world.start()
    world.install('first', { component: 'shop' })
    await world.settle()
    world.deployment('shop', 0)
    await world.flux()
    expect(await install()).to.include({ state: 'Running', step: 'Health' })
    await world.bench.clock.advance(700_000)
    await world.bench.rest()
    expect(await install()).to.include({ state: 'Failed', step: 'Health' })
    await resume(new Date(world.bench.clock.now()).toISOString())
    await world.bench.clock.advance(1_000)
    await world.bench.rest()
    expect(await install()).to.include({ state: 'Running' })
    world.deployment('shop', 1)
    await world.flux()
    await world.settle()
    expect(await install()).to.include({ state: 'Succeeded' })
  })

  it('keep the 50 newest finished installs', async () => {
    world.component('shop')
    await world.start()
    for (let number = 0; number < 52; number += 1) {
      world.install(`repair-${number}`, { component: 'shop', kind: 'Repair' })
      await world.bench.clock.advance(1_000)
      await world.bench.rest()
    }
    const { items } = await world.bench.client.list(ComponentInstall.resource)
    expect(items.map(({ metadata }) => metadata.name).sort()).to.deep.equal(
      Array.from({ length: 50 }, (_, at) => `repair-${at + 2}`).sort(),
    )
  })

  it('read the registry every hour, for a failed component too', async () => {
    world.component('shop', { version: '1.0.0' })
    await world.start()
    await world.flux('no such image')
    expect(await component()).to.include({ state: 'Failed' })
    for (const hour of ['01', '02', '03']) {
      await world.bench.clock.advance(3_600_000)
      await world.bench.rest()
      expect((await component()).feed).to.include({ readAt: `2026-01-01T${hour}:00:00Z` })
    }
  })

  it('retry a version that a failed install could not deploy', async () => {
    world.component('shop')
    await world.start()
    world.install('first', { component: 'shop' })
    await world.bench.clock.advance(700_000)
    await world.bench.rest()
    await world.flux('no such image')
    expect([(await install()).state, (await component()).state]).to.deep.equal(['Failed', 'Failed'])
    world.install('second', { component: 'shop' })
    await world.settle()
    expect(await install('second')).to.include({ state: 'Running', step: 'Chart' })
    await world.flux()
    await world.settle()
    expect((await install('second')).state).to.equal('Succeeded')
  })

  it('run one install at a time, the oldest first', async () => {
    world.component('shop')
    world.component('other')
    await world.start()
    world.install('first', { component: 'shop' })
    await world.settle()
    world.install('second', { component: 'other' })
    await world.bench.rest()
    expect((await install('second')).state).to.equal('Queued')
    await world.flux()
    await world.settle()
    await world.settle()
    expect((await install('first')).state).to.equal('Succeeded')
    expect((await install('second')).state).to.equal('Running')
  })

  it('repair an installed version', async () => {
    world.component('shop', { version: '1.0.0' })
    await world.start()
    await world.flux()
    await world.settle()
    world.install('repair', { component: 'shop', kind: 'Repair' })
    await world.settle()
    expect(await install('repair')).to.include({ state: 'Running', version: '1.0.0' })
    await world.flux()
    await world.settle()
    expect((await install('repair')).state).to.equal('Succeeded')
  })

  const required = [{ key: 'auth.password', title: 'Password', isSecret: true }]
  it('pause for a missing required value and pass it to Flux by reference to its Secret only', async () => {
    world.component('shop', { required })
    await world.start()
    world.install('first', { component: 'shop' })
    await world.settle()
    expect(await install()).to.include({ state: 'Paused', phase: 'ConfigurationInvalid' })
    world.bench.client.seed(secret, {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { ...AT, name: 'install-configuration' } },
      data: { 'shop.auth.password': Buffer.from('correct horse').toString('base64') },
    } as KubeObject)
    await resume('2026-01-01T00:05:00Z')
    await world.settle()
    await world.flux()
    await world.settle()
    expect((await install()).state).to.equal('Succeeded')
    const stored = await Promise.all(
      [helmRelease, ociRepository, PlatformComponent.resource, ComponentInstall.resource].map(async (resource) =>
        JSON.stringify((await world.bench.client.list(resource)).items),
      ),
    )
    expect(stored.join()).not.to.match(/correct horse|Y29ycmVjdCBob3JzZQ/)
    expect(stored[0]).to.contain('shop.auth.password')
  })

  const refused: [sentence: string, spec: object, phase: string][] = [
    ['an unknown component', { component: 'gone' }, 'ReferenceMissing'],
    ['an installed component', { component: 'there' }, 'ConfigurationInvalid'],
    ['a repair of a component that is not installed', { component: 'shop', kind: 'Repair' }, 'ConfigurationInvalid'],
    ['a repair of a version that the chart does not have', { component: 'there', kind: 'Repair' }, 'ReferenceMissing'],
    ['a component with a missing dependency', { component: 'needy' }, 'ReferenceMissing'],
    ['a version that the registry does not have', { component: 'shop', version: '9.9.9' }, 'ReferenceMissing'],
  ]
  for (const [sentence, spec, phase] of refused)
    it(`reject ${sentence}`, async () => {
      world.component('shop')
      world.component('there', { workloads: [{ kind: 'Deployment', name: 'there' }] })
      world.component('needy', { dependsOn: [{ name: 'shop' }] })
      world.deployment('there', 1)
      await world.start()
      world.install('first', spec)
      await world.settle()
      expect((await install()).phase).to.equal(phase)
      expect((await world.bench.client.list(helmRelease)).items).to.deep.equal([])
    })
})

describe('feedDueIn', () => {
  const NOW = Date.parse('2026-01-01T12:00:00Z')
  const at = (attemptedAt: string, requestedAt?: string) => ({ attemptedAt, ...(requestedAt && { requestedAt }) })
  const cases: [sentence: string, args: Parameters<typeof feedDueIn>, left: number | undefined][] = [
    ['returns 0 for a feed that was never read', [undefined, undefined, 3_600_000, NOW], 0],
    [
      'returns the rest of the hour since the last attempt',
      [undefined, at('2026-01-01T11:30:00Z'), 3_600_000, NOW],
      1_800_000,
    ],
    ['returns 0 for a new request', ['2026-01-01T12:00:00Z', at('2026-01-01T11:59:00Z'), 3_600_000, NOW], 0],
    [
      'returns the interval after a request was served',
      ['a', at('2026-01-01T12:00:00Z', 'a'), 3_600_000, NOW],
      3_600_000,
    ],
    ['returns nothing without an interval', [undefined, undefined, undefined, NOW], undefined],
  ]
  for (const [sentence, args, left] of cases) it(sentence, () => expect(feedDueIn(...args)).to.equal(left))
})
