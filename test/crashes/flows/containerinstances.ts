import { containerNames } from '../../../src/contracts/containerinstances.ts'
import { revisionOf } from '../../../src/contracts/revisions.ts'
import { entryName } from '../../../src/contracts/vaults/names.ts'
import { ContainerInstance } from '../../../src/crds/containerinstances.ts'
import { ManagedIdentity } from '../../../src/crds/managedidentities.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import { controllerRevision, persistentVolumeClaim, pod } from '../../../src/kube/builtin.ts'
import { veleroBackup, veleroDeleteBackupRequest, veleroSchedule } from '../../../src/kube/velero.ts'
import { mountedCredentials } from '../credentials.ts'
import type { Flow, Step } from '../flow.ts'
import { HOME, seedVelero } from '../seeds.ts'
import type { World } from '../world.ts'

const NAME = 'shop'
const SECRET = { vaultName: 'safe', secretName: 'Token' }
const web = { name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }
const worker = { name: 'worker', image: 'worker:1', dependsOn: ['web'], env: [{ name: 'TOKEN', secret: SECRET }] }
const disk = { name: 'disk', kind: 'Persistent', size: '1Gi', storageClass: 'standard' }
const whole = {
  components: [{ ...web, replicas: 2 }, worker],
  volumes: [disk, { name: 'keys', kind: 'Secret', secret: SECRET }],
  isPublic: true,
  customDomains: ['shop.example.com'],
}

const isReady = (world: World) => world.isReady(ContainerInstance, NAME)
const make = (spec: object = whole): Step => ({
  user: 'makes a container instance',
  act: (world) => world.make(ContainerInstance, NAME, spec),
  until: isReady,
})
/** With the defaults that an API server would add. */
const written = (spec: object) => {
  const fields = ContainerInstance.spec.shape as unknown as Record<string, { parse: (value: unknown) => unknown }>
  return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, fields[name]?.parse(value)]))
}
const change = (user: string, spec: object, until: Step['until'] = isReady): Step => ({
  user,
  act: (world) => world.change(ContainerInstance, NAME, written(spec)),
  ...(until !== undefined && { until }),
})
const token = (value: string): Step => ({
  user: 'keeps a secret in a vault',
  async act(world) {
    if ((await world.find(SecretVault.resource, 'safe')) === undefined) await world.make(SecretVault, 'safe', {})
    const secretName = `incoming-${value}`
    await world.makeSecret(secretName, { value })
    const name = entryName('safe', 'Token')
    const valueFrom = { secretName, key: 'value' }
    if ((await world.find(VaultEntry.resource, name)) === undefined)
      await world.make(VaultEntry, name, { ...SECRET, valueFrom })
    else await world.change(VaultEntry, name, { valueFrom })
  },
  until: (world) => world.isReady(VaultEntry, entryName('safe', 'Token')),
})

/** Which revision runs, its inputs, and what is recorded. */
async function facts(world: World): Promise<object> {
  const pods = (await world.server.list(pod)).items.filter(({ metadata }) => metadata.namespace === HOME)
  const revisions = (await world.server.list(controllerRevision)).items.flatMap((one) => revisionOf(one) ?? [])
  const values = await world.secret(containerNames(NAME).values('worker'))
  return {
    pods: pods
      .map(({ metadata: { labels } }) => `${labels?.['freehold.dev/component']} ${labels?.['freehold.dev/revision']}`)
      .sort(),
    revisions: revisions.map(({ number, reason }) => `${number} ${reason}`).sort(),
    token: values?.TOKEN && Buffer.from(values.TOKEN, 'base64').toString(),
    claims: (await world.server.list(persistentVolumeClaim)).items.map(({ metadata }) => metadata.name),
  }
}

const common = { controllers: ['containerinstance', 'secretvault', 'vaultentry'], given: [token('one')], facts }
/** Without vaults, which have flows of their own: fewer crash points. */
const small = { components: [web], volumes: [disk], isPublic: true }
const alone = { controllers: ['containerinstance'], facts }

const policy = { schedule: '0 2 * * *', retentionDays: 7, keepLast: 1 }
const velero: Step = { user: 'an administrator installs Velero', act: async (world) => seedVelero(world.server) }

/** What Velero makes when the schedule is due: a Backup with the labels and annotations of the Schedule. */
const backup = (number: number): Step => ({
  user: `Velero takes backup ${number}`,
  async act(world) {
    const [schedule] = (await world.server.list(veleroSchedule)).items
    if (schedule === undefined) throw new Error('There is no Schedule.')
    const { labels = {}, annotations = {} } = schedule.metadata
    world.server.seed(veleroBackup, {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: { name: `backup-${number}`, namespace: 'velero', labels, annotations },
      status: { phase: 'Completed', startTimestamp: `2026-01-0${number}T02:00:00Z` },
    })
    world.touch()
  },
  until: isReady,
})

const identityFacts = async (world: World) => ({ ...(await facts(world)), ...(await mountedCredentials(world)) })

async function backupFacts(world: World): Promise<object> {
  const names = async (resource: typeof veleroBackup) =>
    (await world.server.list(resource)).items.map(({ metadata }) => metadata.name).sort()
  return {
    ...(await facts(world)),
    schedules: (await world.server.list(veleroSchedule)).items.map(({ spec }) => spec),
    backups: await names(veleroBackup),
    deletions: await names(veleroDeleteBackupRequest),
  }
}

export const containerFlows: readonly Flow[] = [
  {
    ...common,
    title: 'a container instance with all fields is created',
    steps: [make()],
  },
  {
    ...alone,
    title: 'a container instance is changed to another image, and back',
    given: [make(small)],
    steps: [
      change('asks for another image', { components: [{ ...web, image: 'site:2' }] }),
      change('asks for the one before', { components: [web] }),
    ],
  },
  {
    ...common,
    title: 'a container instance is given a rotated secret',
    given: [token('one'), make()],
    steps: [
      {
        ...token('two'),
        until: async (world) => {
          const values = await world.secret(containerNames(NAME).values('worker'))
          return values?.TOKEN === Buffer.from('two').toString('base64') && isReady(world)
        },
      },
    ],
  },
  {
    ...common,
    title: 'a container instance loses a component and its public host, and grows its volume',
    given: [token('one'), make()],
    steps: [
      change('asks for less', {
        components: [web],
        volumes: [{ ...disk, size: '2Gi' }],
        isPublic: false,
      }),
    ],
  },
  {
    ...alone,
    title: 'a container instance is backed up, and keeps its last backup after its deletion',
    facts: backupFacts,
    given: [velero, make(small)],
    steps: [
      change('asks for backups', { backupPolicy: policy }),
      backup(1),
      backup(2),
      change('pauses them', { backupPolicy: { ...policy, enabled: false } }),
      {
        user: 'deletes it',
        act: (world) => world.remove(ContainerInstance, NAME),
        until: (world) => world.isGone(ContainerInstance, NAME),
      },
    ],
  },
  {
    ...alone,
    title: 'a container instance gets an identity, new credentials, and loses the identity',
    controllers: ['containerinstance', 'managedidentity'],
    facts: identityFacts,
    given: [make(small)],
    steps: [
      change('asks for an identity', { managedIdentity: true }),
      {
        user: 'asks for new credentials',
        async act(world) {
          const [identity] = (await world.server.list(ManagedIdentity.resource)).items
          await world.change(ManagedIdentity, identity?.metadata.name ?? '', { secretVersion: 2 })
        },
        until: async (world) => {
          const [identity] = (await world.server.list(ManagedIdentity.resource)).items
          return (identity?.status as { secretVersion?: number } | undefined)?.secretVersion === 2
        },
      },
      change('asks for none', { managedIdentity: false }, async (world) => {
        const [identity] = (await world.server.list(ManagedIdentity.resource)).items
        return (identity?.status as { mounted?: boolean } | undefined)?.mounted === false && isReady(world)
      }),
      {
        user: 'deletes it',
        act: (world) => world.remove(ContainerInstance, NAME),
        until: (world) => world.isGone(ContainerInstance, NAME),
      },
    ],
  },
  {
    ...alone,
    title: 'a container instance is stopped and started',
    given: [make(small)],
    steps: [
      change('stops it', { running: false }, async (world) => {
        const found = await world.find(ContainerInstance.resource, NAME)
        return (found?.status as { status?: string } | undefined)?.status === 'Stopped'
      }),
      change('starts it', { running: true }),
    ],
  },
  {
    ...alone,
    title: 'a container instance is deleted, and created again with its retained volume',
    given: [make(small)],
    steps: [
      {
        user: 'asks to keep the volumes',
        act: (world) => world.change(ContainerInstance, NAME, { onDelete: 'Retain' }),
      },
      {
        user: 'deletes it',
        act: (world) => world.remove(ContainerInstance, NAME),
        until: (world) => world.isGone(ContainerInstance, NAME),
      },
      make(small),
    ],
  },
  {
    ...alone,
    title: 'a container instance is deleted with its volumes',
    given: [make(small)],
    steps: [
      {
        user: 'deletes it',
        act: (world) => world.remove(ContainerInstance, NAME),
        until: (world) => world.isGone(ContainerInstance, NAME),
      },
    ],
  },
]
