import { jobNames } from '../../../src/contracts/jobs.ts'
import { entryName } from '../../../src/contracts/vaults/names.ts'
import { PlatformJob } from '../../../src/crds/jobs.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import { job } from '../../../src/kube/builtin.ts'
import type { Flow, Step } from '../flow.ts'
import { HOME } from '../seeds.ts'
import type { World } from '../world.ts'

const NAME = 'report'
const DAY = 86_400_000
const CONTROLLERS = ['platformjob', 'secretvault', 'vaultentry']

const statusOf = async (world: World) =>
  (await world.find(PlatformJob.resource, NAME))?.status as
    | { state?: string; logParts?: number; podRemovedAt?: string }
    | undefined

const start = (spec: object = {}): Step => ({
  user: 'starts a job',
  act: (world) => world.make(PlatformJob, NAME, { image: 'python', computePlan: 'job-small', ...spec }),
})
const untilEnded = (state: string): Step => ({
  user: `waits until it is ${state}`,
  act: () => undefined,
  until: async (world) => {
    const status = await statusOf(world)
    return status?.state === state && status.logParts !== undefined
  },
})
const givenSecret: Step = {
  user: 'keeps a secret in a vault',
  async act(world) {
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: 'hunter2' })
    const valueFrom = { secretName: 'incoming', key: 'value' }
    const name = entryName('safe', 'Token')
    await world.make(VaultEntry, name, { vaultName: 'safe', secretName: 'Token', valueFrom })
  },
  until: (world) => world.isReady(VaultEntry, entryName('safe', 'Token')),
}

/** How often it ran, its log, and which values remain. */
async function facts(world: World): Promise<object> {
  const { workload, environment, log } = jobNames(NAME)
  const blob = await world.engines.blobs.read({ namespace: HOME, name: log(0) })
  return {
    runs: world.engines.startedJobs,
    log: blob === undefined ? undefined : Buffer.from(blob.bytes).toString().replaceAll(/^\S+ /gm, ''),
    hasEnvironment: (await world.secret(environment)) !== undefined,
    hasJob: (await world.find(job, workload)) !== undefined,
  }
}

export const jobFlows: readonly Flow[] = [
  {
    title: 'a job runs once with a value of a vault, and succeeds',
    controllers: CONTROLLERS,
    given: [givenSecret],
    steps: [start({ env: { TOKEN: '@vault(safe/Token)', TEAM: 'search' } }), untilEnded('Succeeded')],
    facts,
  },
  {
    title: 'a job fails after its retries, and is deleted with its result after its TTL',
    controllers: CONTROLLERS,
    steps: [
      start({ args: ['3'], retries: 1, ttlSecondsAfterFinished: 60 }),
      untilEnded('Failed'),
      {
        user: 'waits for the pod to go',
        act: (world) => world.pass(DAY),
        until: async (world) => (await statusOf(world))?.podRemovedAt !== undefined,
      },
      {
        user: 'waits for the job to go',
        act: (world) => world.pass(8 * DAY),
        until: (world) => world.isGone(PlatformJob, NAME),
      },
    ],
    facts,
  },
  {
    title: 'a running job is cancelled: it stops, and its output is kept',
    controllers: CONTROLLERS,
    given: [givenSecret],
    steps: [
      {
        ...start({ env: { TOKEN: '@vault(safe/Token)' }, args: ['forever'] }),
        until: async (world) => (await statusOf(world))?.state === 'Running',
      },
      {
        user: 'cancels it',
        act: (world) => world.change(PlatformJob, NAME, { cancelled: true }),
        until: async (world) => (await statusOf(world))?.state === 'Failed',
      },
    ],
    facts,
  },
  {
    title: 'a running job is deleted',
    controllers: CONTROLLERS,
    steps: [
      { ...start(), until: async (world) => (await statusOf(world))?.state !== undefined },
      {
        user: 'deletes it',
        act: (world) => world.remove(PlatformJob, NAME),
        until: (world) => world.isGone(PlatformJob, NAME),
      },
    ],
    facts: async (world) => ({ hasJob: (await world.find(job, jobNames(NAME).workload)) !== undefined }),
  },
]
