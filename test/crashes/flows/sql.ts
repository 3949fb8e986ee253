import { decodePasswords, productKeyEntry, SQL_USERS, sqlHost, sqlNames } from '../../../src/contracts/sql.ts'
import { ownerReferenceTo } from '../../../src/core/object.ts'
import { SqlInstance } from '../../../src/crds/sql.ts'
import { configMap, secret } from '../../../src/kube/builtin.ts'
import { veleroSchedule } from '../../../src/kube/velero.ts'
import type { Flow, Step } from '../flow.ts'
import { HOME, seedVelero } from '../seeds.ts'
import type { World } from '../world.ts'

const NAME = 'books'
const isReady = (world: World) => world.isReady(SqlInstance, NAME)

async function statusOf(world: World) {
  const found = await world.find(SqlInstance.resource, NAME)
  return (found?.status ?? {}) as { status?: string; phase?: string; licenseStatus?: string }
}

const make = (spec: object = {}): Step => ({
  user: 'makes a SQL instance',
  act: (world) => world.make(SqlInstance, NAME, { engine: 'MariaDb', computePlan: 'sql-small', ...spec }),
  until: isReady,
})
const change = (user: string, spec: object, until: Step['until'] = isReady): Step => ({
  user,
  act: (world) => world.change(SqlInstance, NAME, spec),
  ...(until === undefined ? {} : { until }),
})
const remove: Step = {
  user: 'deletes it',
  act: (world) => world.remove(SqlInstance, NAME),
  until: (world) => world.isGone(SqlInstance, NAME),
}

/** As the facade stores it; the version of the spec follows. */
const setProductKey = (version: number, key: string, until: (world: World) => Promise<boolean>): Step => ({
  user: `sets product key ${version}`,
  async act(world) {
    const name = sqlNames(NAME).license
    const owner = await world.find(SqlInstance.resource, NAME)
    if (owner === undefined) throw new Error('The instance is missing.')
    if ((await world.secret(name)) === undefined) {
      await world.makeSecret(name, { [productKeyEntry(version)]: key })
      await world.server.mergePatch(
        secret,
        { namespace: HOME, name },
        { metadata: { ownerReferences: [ownerReferenceTo(owner)] } },
      )
    }
    const data = { [productKeyEntry(version)]: Buffer.from(key).toString('base64') }
    await world.server.mergePatch(secret, { namespace: HOME, name }, { data })
    await world.change(SqlInstance, NAME, { licenseVersion: version })
  },
  until,
})

/** Whether each stored password opens what runs, and the databases in it. */
async function facts(world: World): Promise<object> {
  const passwords = decodePasswords(await world.secret(sqlNames(NAME).logins))
  const host = sqlHost(HOME, NAME)
  const { sql } = world.engines
  const opens = (['owner', 'writer', 'reader'] as const).map(
    (whose) => passwords !== undefined && sql.accepts(host, { user: SQL_USERS[whose], password: passwords[whose] }),
  )
  return {
    opens,
    databases: sql.databases(host),
    edition: sql.edition(host),
    broken: world.kubernetes.workloads.broken,
  }
}

const isBackedUp = async (world: World) => {
  const found = await world.find(SqlInstance.resource, NAME)
  return (found?.status as { backupEnabled?: boolean } | undefined)?.backupEnabled === true
}

const common = { controllers: ['sqlinstance'], facts }

export const sqlFlows: readonly Flow[] = [
  {
    ...common,
    title: 'a SQL instance with a load balancer is created',
    steps: [make({ enableLoadBalancer: true })],
  },
  {
    ...common,
    title: 'a SQL instance gets a larger plan, more memory at once, and a restart',
    given: [make()],
    steps: [
      change('asks for more', { computePlan: 'sql-medium' }, undefined),
      change('asks for a restart', { restartedAt: '2026-01-01T00:00:00Z' }),
    ],
  },
  {
    ...common,
    title: 'a SQL instance waits for a product key, refuses one of another edition, and takes the next',
    given: [make({ engine: 'MsSql', acceptEula: true, edition: 'Enterprise' })].map((step) => ({
      ...step,
      until: async (world) => (await statusOf(world)).phase === 'LicenseInvalid',
    })),
    steps: [
      setProductKey(1, 'Enterprise-1', async (world) => (await statusOf(world)).licenseStatus === 'Active'),
      setProductKey(2, 'Standard-1', async (world) => (await statusOf(world)).licenseStatus === 'Rejected'),
      setProductKey(3, 'Enterprise-2', async (world) => (await statusOf(world)).licenseStatus === 'Active'),
    ],
  },
  {
    ...common,
    title: 'a SQL instance is stopped and started',
    given: [make()],
    steps: [
      change('stops it', { running: false }, async (world) => (await statusOf(world)).status === 'Stopped'),
      change('starts it', { running: true }),
    ],
  },
  {
    ...common,
    title: 'a SQL instance is backed up from when Velero is installed until it is deleted',
    given: [make({ storageClass: 'standard' })],
    steps: [
      { user: 'an administrator installs Velero', act: async ({ server }) => seedVelero(server), until: isBackedUp },
      remove,
    ],
    facts: async (world) => ({
      schedules: (await world.server.list(veleroSchedule)).items.length,
      policies: (await world.server.list(configMap, { namespace: 'velero' })).items.length,
    }),
  },
  { ...common, title: 'a SQL instance is deleted with its data', given: [make()], steps: [remove] },
  {
    ...common,
    title: 'a SQL instance is deleted without its data, and created again',
    given: [make({ onDelete: 'Retain' })],
    steps: [remove, make({ onDelete: 'Retain' })],
  },
]
