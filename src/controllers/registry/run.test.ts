import { expect } from 'chai'
import { makeRegistry } from '../../../test/make/registry.ts'
import { BOUNDARY_ID, ControllerBench } from '../../../test/worlds/controllers.ts'
import { AuditError } from '../../adapters/audit/port.ts'
import { RegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import { auditEntry } from '../../contracts/registry/audit.ts'
import { repositoryObjectName } from '../../contracts/registry/names.ts'
import { NO_IMAGE_USES } from '../../contracts/registry/retention.ts'
import { DAY_MS } from '../../core/clock.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { RegistryPin, RegistryRepository, RetentionRun } from '../../crds/registry.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { namespace } from '../../kube/builtin.ts'
import { runController, scheduleRun } from './run.ts'

const REPOSITORY = `${BOUNDARY_ID}/shop/jobs/report`
const HOME = boundaryNamespace(BOUNDARY_ID)
type Run = RetentionRun & KubeObject

// The group does not exist, so nothing in its repositories is retained.
describe('RetentionRun controller', () => {
  let bench: ControllerBench
  let world: ReturnType<typeof makeRegistry>
  beforeEach(() => {
    world = makeRegistry()
    bench = benchWith()
  })
  afterEach(() => bench.stop())

  const benchWith = (change: Partial<RegistryPort> = {}, installedAt = '2020-01-01T00:00:00Z') => {
    const registry = { ...world.service, grace: 3_600_000, seesPushes: true, ...change }
    const made = new ControllerBench([runController({ registry })])
    const metadata = { name: SYSTEM_NAMESPACE, creationTimestamp: installedAt }
    made.client.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata })
    return made
  }
  const seedGroup = (name: string) => {
    const spec = { quota: {}, tags: {} }
    bench.seed(Boundary, BOUNDARY_ID, { displayName: 'Shop', ...spec })
    bench.seed(ResourceGroup, name, spec, { namespace: HOME })
  }
  const push = (tag: string) => world.registry.push(REPOSITORY, tag, { text: tag })
  const removed = async () => (await world.audit.newest(100, () => true)).map(({ digest }) => digest)
  /** Advances the clock between the steps of the run. */
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

  it('removes manifests that are not retained and audits each', async () => {
    const digests = [push('v1'), push('v2')]
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 2, failedManifests: 0 })
    expect(await removed()).to.have.members(digests)
    expect(await world.registry.digests(REPOSITORY)).to.deep.equal([])
  })

  it('keeps the newest images of a group that exists, but none of one that is gone', async () => {
    seedGroup('orders')
    const kept = REPOSITORY.replace('/shop/', '/orders/')
    world.registry.push(kept, 'v1', { text: 'kept' })
    push('v1')
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1 })
    expect([await world.registry.tags(kept), await world.registry.tags(REPOSITORY)]).to.deep.equal([['v1'], []])
  })

  it('keeps images whose push was never announced as new ones, and removes old ones beyond the newest', async () => {
    seedGroup('orders')
    const repository = REPOSITORY.replace('/shop/', '/orders/')
    const digests = Array.from({ length: 12 }, (_, number) =>
      world.registry.push(repository, `v${number}`, { text: `v${number}` }),
    )
    const ref = { namespace: HOME, name: repositoryObjectName(repository) }
    const old = { [digests[3] ?? '']: { pushedAt: '2020-01-01T00:00:00Z' } }
    bench.seed(RegistryRepository, ref.name, { repository, announcedAt: '2020-01-01T00:00:00Z', digests: old }, ref)
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1 })
    expect(await world.registry.digests(repository)).to.not.include(digests[3])
    const recorded = (await bench.find(RegistryRepository.resource, ref.name, HOME)) as RegistryRepository & KubeObject
    expect(recorded.spec.announcedAt).to.not.equal('2020-01-01T00:00:00Z')
  })

  it('keeps the images of a repository for which a push token was just issued', async () => {
    push('v1')
    const issued = (before: number) =>
      auditEntry(bench.clock.now() - before, {
        action: 'Token',
        actor: 'ada',
        repository: REPOSITORY,
        granted: ['push'],
      })
    await world.audit.append([issued(3_500_000)])
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 0 })
    await bench.clock.advance(100_000)
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1 })
  })

  it('keeps pinned images of the repository of the pin', async () => {
    const [kept, other] = [push('v1'), REPOSITORY.replace('/shop/', '/other/')]
    world.registry.push(other, 'v1', { text: 'v1' })
    const pin = { repository: REPOSITORY, digests: [kept], reason: 'release', expiresAt: '2099-01-01T00:00:00Z' }
    bench.seed(RegistryPin, 'release', pin, { namespace: HOME })
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1 })
    expect([await world.registry.tags(REPOSITORY), await world.registry.tags(other)]).to.deep.equal([['v1'], []])
  })

  it('removes nothing of a repository that cannot be read, and continues with the others', async () => {
    push('v1')
    const broken = REPOSITORY.replace('/shop/', '/broken/')
    world.registry.push(broken, 'v1', { text: 'v1' })
    const { digests } = world.registry
    world.registry.digests = async (repository) => {
      if (repository === broken) throw new RegistryError('Unreadable', 'Its content cannot be read.')
      return digests.call(world.registry, repository)
    }
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1 })
    expect(await world.registry.tags(broken)).to.deep.equal(['v1'])
  })

  it('keeps images of unknown groups for a week after the installation: a restore may bring the groups', async () => {
    push('v1')
    await bench.stop()
    const now = bench.clock.now()
    bench = benchWith({}, new Date(now - 7 * DAY_MS + 60_000).toISOString())
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 0 })
    await bench.stop()
    bench = benchWith({}, new Date(now - 7 * DAY_MS).toISOString())
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1 })
  })

  it('removes and audits nothing in a dry run', async () => {
    push('v1')
    expect(await run({ dryRun: true })).to.include({ state: 'Succeeded', removedManifests: 1 })
    expect(await world.registry.tags(REPOSITORY)).to.deep.equal(['v1'])
    expect(await removed()).to.deep.equal([])
  })

  it('continues after a manifest that the registry refuses to remove and reports PartiallyFailed', async () => {
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

  it('ends with PartiallyFailed if no manifest can be removed', async () => {
    push('v1')
    world.registry.remove = () => Promise.reject(new RegistryError('Refused', 'It will not.'))
    expect(await run()).to.include({ state: 'PartiallyFailed', removedManifests: 0, failedManifests: 1 })
  })

  it('keeps a manifest that came into use after the plan', async () => {
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

  it('counts a manifest as removed that a crashed step had removed', async () => {
    push('v1')
    const { remove } = world.registry
    world.registry.remove = async (...given) => {
      world.registry.remove = remove
      await remove.apply(world.registry, given)
      throw new Error('It died.')
    }
    expect(await run()).to.include({ state: 'Succeeded', removedManifests: 1, failedManifests: 0 })
  })

  it('fails without push events, but still counts in a dry run', async () => {
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

  it('fails with the message of an unreachable registry', async () => {
    world.registry.repositories = () => Promise.reject(new RegistryError('Unreachable', 'The registry is away.'))
    expect(await run()).to.include({ state: 'Failed', error: 'The registry is away.' })
  })

  it('fails and removes nothing while the audit cannot be read', async () => {
    push('v1')
    world.audit.newest = () => Promise.reject(new AuditError('The audit cannot be read.'))
    expect(await run()).to.include({ state: 'Failed', error: 'The audit cannot be read.' })
    expect(await world.registry.tags(REPOSITORY)).to.deep.equal(['v1'])
  })

  it('recreates the next scheduled run when it is deleted', async () => {
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
    it(`schedules the next run after ${now} for ${next}`, async () => {
      await scheduleRun(bench.client, Date.parse(now))
      const [made] = (await bench.client.list<Run>(RetentionRun.resource)).items
      expect(made?.spec).to.include({ trigger: 'Scheduled', notBefore: next })
      expect(made?.metadata.name).to.equal(`scheduled-${next.slice(0, 10)}`)
    })
  }
})
