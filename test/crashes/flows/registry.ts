import { PULL_SECRET, repositoryObjectName } from '../../../src/contracts/registry/names.ts'
import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import { RegistryPin, RegistryRepository, RetentionRun } from '../../../src/crds/registry.ts'
import type { Flow, Step } from '../flow.ts'
import { BOUNDARY_ID, GROUP, OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const REPOSITORY = `${BOUNDARY_ID}/${GROUP}/jobs/report`
const NAME = repositoryObjectName(REPOSITORY)
const LONG_AGO = '2025-06-01T00:00:00Z'
const TAGS = 12

const push = (world: World, tag: string | undefined, text: string) =>
  world.engines.registry.push(REPOSITORY, tag, { text, now: Date.parse(LONG_AGO) })
const runState = async (world: World, name: string) =>
  ((await world.find(RetentionRun.resource, name, SYSTEM_NAMESPACE))?.status as { state?: string } | undefined)?.state

const pushed: Step = {
  user: 'pushes many images, of which one has no tag any more',
  async act(world) {
    push(world, 'v1', 'lost')
    const digests = Array.from({ length: TAGS }, (_, index) => push(world, `v${index + 1}`, `image ${index}`))
    const all = await world.engines.registry.digests(REPOSITORY)
    const times = Object.fromEntries(all.map((digest) => [digest, { pushedAt: LONG_AGO }]))
    const spec = { repository: REPOSITORY, announcedAt: LONG_AGO, digests: times }
    await world.make(RegistryRepository, NAME, spec, OUTER)
    const pin = { repository: REPOSITORY, digests: digests.slice(0, 1), expiresAt: '2030-01-01T00:00:00Z' }
    await world.make(RegistryPin, 'first', pin, OUTER)
  },
  until: (world) => world.isReady(RegistryRepository, NAME, OUTER),
}

/** Which images are left, and what the pull secret of the group is for. */
async function facts(world: World): Promise<object> {
  const { registry } = world.engines
  return {
    tags: await registry.tags(REPOSITORY),
    manifests: await registry.digests(REPOSITORY),
    blobs: registry.blobs.size,
    audited: (await world.engines.audit.newest(1000, () => true))
      .map(({ action, digest }) => `${action} ${digest}`)
      .sort(),
    hasPullSecret: (await world.secret(PULL_SECRET)) !== undefined,
  }
}

export const registryFlows: readonly Flow[] = [
  {
    title: 'a retention run removes old images, except pinned and latest ones, and their data',
    controllers: ['registryrepository', 'retentionrun'],
    given: [pushed],
    steps: [
      {
        user: 'starts a run',
        act: (world) => world.make(RetentionRun, 'cleaning', {}, SYSTEM_NAMESPACE),
        until: async (world) => (await runState(world, 'cleaning')) === 'Succeeded',
      },
    ],
    facts,
  },
  {
    title: 'an unannounced repository is recorded by a dry run',
    controllers: ['registryrepository', 'retentionrun'],
    steps: [
      {
        user: 'pushes without a notification, and starts a dry run',
        async act(world) {
          push(world, 'v1', 'unheard')
          await world.make(RetentionRun, 'counting', { dryRun: true }, SYSTEM_NAMESPACE)
        },
        until: async (world) =>
          (await runState(world, 'counting')) === 'Succeeded' && world.isReady(RegistryRepository, NAME, OUTER),
      },
    ],
    facts,
  },
]
