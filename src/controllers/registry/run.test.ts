import { expect } from 'chai'
import { makeRegistry } from '../../../test/make/registry.ts'
import { BOUNDARY_ID, ControllerBench } from '../../../test/worlds/controllers.ts'
import { RegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import { NO_IMAGE_USES } from '../../contracts/registry/retention.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { RetentionRun } from '../../crds/registry.ts'
import { runController, scheduleRun } from './run.ts'

const REPOSITORY = `${BOUNDARY_ID}/shop/jobs/report`
type Run = RetentionRun & KubeObject

// Of a boundary that is gone nothing is kept.
describe('a retention run', () => {
  let bench: ControllerBench
  let world: ReturnType<typeof makeRegistry>
  beforeEach(() => {
    world = makeRegistry()
    bench = benchWith()
  })
  afterEach(() => bench.stop())

  const benchWith = (change: Partial<RegistryPort> = {}) =>
    new ControllerBench([
      runController({ registry: { ...world.service, grace: 3_600_000, seesPushes: true, ...change } }),
    ])
  const push = (tag: string) => world.registry.push(REPOSITORY, tag, { text: tag })
  const removed = async () => (await world.audit.newest(100, () => true)).map(({ digest }) => digest)
  /** Each step is a moment after the one before. */
  async function run(spec: object = {}) {
    bench.seed(RetentionRun, 'cleaning', spec, { namespace: SYSTEM_NAMESPACE })
    await bench.start()
    for (let step = 0; step < 6; step += 1) {
      await bench.clock.advance(6_000)
      await bench.rest()
    }
    const { status = {} } = (await bench.find(RetentionRun.resource, 'cleaning', SYSTEM_NAMESPACE)) as Run
    const { state, removedManifests, failedManifests, error } = status
    return { state, removedManifests, failedManifests, error }
  }

  it('removes what is not kept, and tells of each', async () => {
    const digests = [push('v1'), push('v2')]
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 2, failedManifests: 0 })
    expect(await removed()).to.have.members(digests)
    expect(await world.registry.digests(REPOSITORY)).to.deep.equal([])
  })

  it('removes nothing where it only counts', async () => {
    push('v1')
    expect(await run({ dryRun: true })).to.include({ state: 'Succeeded', removedManifests: 1 })
    expect(await world.registry.tags(REPOSITORY)).to.deep.equal(['v1'])
    expect(await removed()).to.deep.equal([])
  })

  it('goes on past a manifest that the registry will not remove, and says that it was one', async () => {
    const stuck = push('stuck')
    push('v1')
    const remove = world.registry.remove.bind(world.registry)
    world.registry.remove = async (repository, digest) => {
      if (digest === stuck) throw new RegistryError('Refused', 'It will not.')
      return remove(repository, digest)
    }
    expect(await run()).to.include({ state: 'PartiallyFailed', removedManifests: 1, failedManifests: 1 })
    expect(await world.registry.tags(REPOSITORY)).to.deep.equal(['stuck'])
  })

  it('ends where it cannot remove any, however many there are', async () => {
    push('v1')
    world.registry.remove = () => Promise.reject(new RegistryError('Refused', 'It will not.'))
    expect(await run()).to.include({ state: 'PartiallyFailed', removedManifests: 0, failedManifests: 1 })
  })

  it('leaves what has come into use between the plan and the deed', async () => {
    const used = push('v1')
    push('v2')
    let looks = 0
    const uses = async () => () =>
      ++looks === 1
        ? NO_IMAGE_USES
        : { ...NO_IMAGE_USES, running: { digests: new Set([used]), tags: new Set<string>() } }
    await bench.stop()
    bench = benchWith({ uses })
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1, failedManifests: 0 })
    expect(await world.registry.tags(REPOSITORY)).to.deep.equal(['v1'])
  })

  it('counts as removed what is gone already, as after a death', async () => {
    push('v1')
    const { remove } = world.registry
    world.registry.remove = async (...given) => {
      world.registry.remove = remove
      await remove.apply(world.registry, given)
      throw new Error('It died.')
    }
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1, failedManifests: 0 })
  })

  it('removes nothing where it cannot tell who is pushing, and still counts', async () => {
    push('v1')
    await bench.stop()
    bench = benchWith({ seesPushes: false })
    const refused = await run()
    expect(refused).to.include({ state: 'Failed' })
    expect(refused.error).to.include('registryAuditFolder')
    expect(await world.registry.tags(REPOSITORY)).to.deep.equal(['v1'])
    await bench.stop()
    bench = benchWith({ seesPushes: false })
    expect(await run({ dryRun: true })).to.include({ state: 'Succeeded', removedManifests: 1 })
  })

  it('fails with a sentence where the registry does not answer', async () => {
    world.registry.repositories = () => Promise.reject(new RegistryError('Unreachable', 'The registry is away.'))
    expect(await run()).to.include({ state: 'Failed', error: 'The registry is away.' })
  })

  it('is scheduled again when somebody deletes the next one', async () => {
    await run()
    const scheduled = async () =>
      (await bench.client.list(RetentionRun.resource)).items
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== 'cleaning')
    const [name = ''] = await scheduled()
    await bench.client.remove(RetentionRun.resource, { namespace: SYSTEM_NAMESPACE, name })
    await bench.rest()
    expect(await scheduled()).to.deep.equal([name])
  })

  for (const [now, next] of [
    ['2026-05-01T02:59:59Z', '2026-05-01T03:00:00.000Z'],
    ['2026-05-01T03:00:00Z', '2026-05-02T03:00:00.000Z'],
    ['2026-05-31T23:00:00Z', '2026-06-01T03:00:00.000Z'],
  ] as const) {
    it(`at ${now} is scheduled for ${next}`, async () => {
      await scheduleRun(bench.client, Date.parse(now))
      const [made] = (await bench.client.list<Run>(RetentionRun.resource)).items
      expect(made?.spec).to.include({ trigger: 'Scheduled', notBefore: next })
      expect(made?.metadata.name).to.equal(`scheduled-${next.slice(0, 10)}`)
    })
  }
})
