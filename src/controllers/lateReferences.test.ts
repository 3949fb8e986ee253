import { expect } from 'chai'
import { OUTER, seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { OUTPUTS, type ResourceOutput } from '../contracts/references.ts'
import { entryName } from '../contracts/vaults/names.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { resourceId } from '../core/object.ts'
import { PlatformApp } from '../crds/apps.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import { BoundaryCrosslink } from '../crds/crosslink.ts'
import { DEFAULT_PLANS } from '../crds/defaultPlans.ts'
import type { AnyKind } from '../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { KINDS } from '../crds/index.ts'
import { PlatformJob } from '../crds/jobs.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../crds/objectstorage.ts'
import { ComputePlan } from '../crds/plans.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import { PrincipalGroup } from '../crds/rbac.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { IdpBinding } from '../crds/sso.ts'
import { SecretVault, VaultEntry } from '../crds/vaults.ts'
import type { Controller } from './engine/controller.ts'
import { resourceOf } from './engine/workspace.ts'

const ID = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b05'
const CLUSTER = '33333333-3333-4333-8333-333333333333'
const TOKEN = { vaultName: 'safe', secretName: 'Token' }
const WEB = { name: 'web', image: 'site:1' }

/** What the status says while something is missing, and how that appears. */
type Arrival = readonly [said: RegExp, comes: (world: World) => Promise<void>]
type Late = {
  readonly title: string
  readonly kind: AnyKind
  readonly name: string
  readonly spec: object
  readonly space?: string
  readonly arrivals: readonly Arrival[]
}

const vault: readonly Arrival[] = [
  [/There is no vault "safe"/, (world) => world.make(SecretVault, 'safe', {})],
  [
    /Secret "Token" of vault "safe" does not exist/,
    async (world) => {
      await world.makeSecret('incoming', { value: '{"auths":{}}' })
      const valueFrom = { secretName: 'incoming', key: 'value' }
      await world.make(VaultEntry, entryName('safe', 'Token'), { ...TOKEN, valueFrom })
    },
  ],
]
const variable = { name: 'TOKEN', secret: TOKEN }
const file = { name: 'keys', kind: 'Secret', secret: TOKEN }
const app = { sourceKind: 'Image', image: 'site:1' }
const code = { namespaceName: 'shop', functionName: 'orders', handler: 'index', image: 'orders:1' }
const functions: Arrival = [
  /There is no function namespace "shop"/,
  (world) => world.make(FunctionNamespace, 'shop', { runtime: 'nodejs' }),
]
const ORDERS = functionObjectName('shop', 'orders')

const VALUES: readonly Late[] = [
  ['of a job', PlatformJob, { image: 'python', env: { TOKEN: '@vault(safe/Token)' } }],
  ['of a variable of a component', ContainerInstance, { components: [{ ...WEB, env: [variable] }] }],
  ['of a file of a container instance', ContainerInstance, { components: [WEB], volumes: [file] }],
  ['of a registry credential', ContainerInstance, { components: [WEB], registryCredential: TOKEN }],
  ['of a variable of an app', PlatformApp, { ...app, env: [variable] }],
  ['of a file of an app', PlatformApp, { ...app, volumes: [{ ...file, mountPath: '/keys' }] }],
].map(([what, kind, spec]) => ({
  ...{ title: `the value ${what}`, name: 'shop', arrivals: vault },
  ...{ kind: kind as AnyKind, spec: spec as object },
}))

const ofFunction = (title: string, spec: object, around: object = {}): Late => ({
  ...{ title, kind: ServerlessFunction, name: ORDERS, spec: { ...code, ...spec } },
  arrivals: [
    [functions[0], (world) => world.make(FunctionNamespace, 'shop', { runtime: 'nodejs', ...around })],
    ...vault,
  ],
})

/** An output of each collection that has outputs. */
const outputs = Object.keys(OUTPUTS) as ResourceOutput['collection'][]
const OUTPUTS_OF = outputs.map((collection): Late => {
  const kind = KINDS.find(({ segment }) => segment === collection)
  if (kind === undefined) throw new Error(`No kind is called ${collection}.`)
  const output = { collection, name: 'other', output: OUTPUTS[collection].plain[0] }
  const specs: Record<string, object> = {
    sqlclusters: { engine: 'MariaDb' },
    containerinstances: { components: [WEB] },
    apps: app,
    staticwebapps: { image: 'site:1' },
    functionnamespaces: { runtime: 'nodejs' },
  }
  return {
    title: `an output of ${collection}`,
    kind: ContainerInstance,
    name: 'shop',
    spec: { components: [{ ...WEB, env: [{ name: 'OF', output }] }] },
    arrivals: [[/There is no \w+ "other" in/, (world) => world.make(kind, 'other', specs[collection] ?? {})]],
  }
})

const LATE: readonly Late[] = [
  ...VALUES,
  ofFunction('the value of a variable of a function', { env: [variable] }),
  ofFunction(
    'the value of a variable of a function namespace',
    { namespaceSecrets: ['secretvaults/safe'] },
    { env: [variable] },
  ),
  ofFunction('the key of a trigger', {
    triggers: [{ name: 'web', kind: 'Http', path: '/', authLevel: 'Secret', keySecret: TOKEN }],
  }),
  ...OUTPUTS_OF,
  ...KINDS.filter(({ sized, kind }) => sized !== undefined && kind !== ServerlessFunction.kind).map((kind): Late => {
    const plan = Object.values(DEFAULT_PLANS).find(({ family }) => family === kind.sized)
    const specs: Record<string, object> = {
      SqlInstance: { engine: 'MariaDb' },
      ContainerInstance: { components: [WEB] },
      PlatformJob: { image: 'python' },
      PlatformApp: app,
      StaticWebApp: { image: 'site:1' },
      FunctionNamespace: { runtime: 'nodejs' },
    }
    return {
      title: `the plan of a ${kind.kind}`,
      kind,
      name: 'shop',
      spec: { ...specs[kind.kind], computePlan: 'mine' },
      arrivals: [
        [/There is no compute plan "mine"/, (world) => world.make(ComputePlan, 'mine', { ...plan, isDefault: false })],
      ],
    }
  }),
  {
    title: 'the plan of a component',
    kind: ContainerInstance,
    name: 'shop',
    spec: { computePlan: 'container-small', components: [{ ...WEB, computePlan: 'mine' }] },
    arrivals: [
      [
        /There is no compute plan "mine"/,
        (world) => world.make(ComputePlan, 'mine', { ...DEFAULT_PLANS['container-small'], isDefault: false }),
      ],
    ],
  },
  {
    title: 'the database of connectTo',
    kind: RelationalCluster,
    name: 'orders',
    spec: { connectTo: 'next' },
    arrivals: [[/connectTo names the database "next"/, (world) => world.make(RelationalCluster, 'next', {})]],
  },
  {
    title: 'the account of a bucket',
    kind: AccountBucket,
    name: 'media.one',
    spec: { accountName: 'media', bucketName: 'one' },
    arrivals: [[/no object storage account "media"/, (world) => world.make(ObjectStorageAccount, 'media', {})]],
  },
  {
    title: 'the account and the bucket of a key',
    kind: ObjectAccessKey,
    name: 'uploader',
    spec: { accountName: 'media', buckets: ['one'] },
    arrivals: [
      [/no object storage account "media"/, (world) => world.make(ObjectStorageAccount, 'media', {})],
      [
        /has no bucket "one"/,
        (world) => world.make(AccountBucket, 'media.one', { accountName: 'media', bucketName: 'one' }),
      ],
    ],
  },
  {
    title: 'the vault and the value of a secret',
    kind: VaultEntry,
    name: entryName('safe', 'Token'),
    spec: { ...TOKEN, valueFrom: { secretName: 'incoming', key: 'value' } },
    arrivals: [
      [/There is no vault "safe"/, (world) => world.make(SecretVault, 'safe', {})],
      [/There is no Secret "incoming"/, (world) => world.makeSecret('incoming', { value: 'one' })],
    ],
  },
  {
    title: 'the group of an identity binding',
    kind: IdpBinding,
    name: 'staff',
    space: SYSTEM_NAMESPACE,
    spec: { tenantId: ID, issuer: 'https://login.test', claimValue: 'staff', groupId: ID },
    arrivals: [
      [/There is no group/, (world) => world.make(PrincipalGroup, ID, { displayName: 'Staff' }, SYSTEM_NAMESPACE)],
    ],
  },
  {
    title: 'the hub cluster of a crosslink and its projection',
    kind: BoundaryCrosslink,
    name: 'crosslink',
    space: OUTER,
    spec: { enabled: true, hubClusterId: CLUSTER },
    arrivals: [
      [/not projected on cluster/, (world) => world.make(BoundaryProjection, CLUSTER, { clusterId: CLUSTER }, OUTER)],
      [
        /not projected on cluster/,
        (world) => world.make(PlatformCluster, CLUSTER, { displayName: 'Far', domain: 'far.test' }),
      ],
    ],
  },
]

const MISSING = ['ReferenceMissing', 'PlanNotFound']

describe('unresolved references', () => {
  for (const { title, kind, name, spec, space, arrivals } of LATE)
    it(`continues when ${title} appears`, async () => {
      const world = new World((all) => all)
      seedGroup(world.server)
      await world.lead()
      const status = async () =>
        ((await world.find(kind.resource, name, space))?.status ?? {}) as { phase?: string; statusMessage?: string }
      await world.make(kind, name, spec, space)
      for (const [said, comes] of arrivals) {
        await world.rest()
        expect((await status()).statusMessage).to.match(said)
        await comes(world)
      }
      await world.rest()
      expect(MISSING, (await status()).statusMessage).to.not.include((await status()).phase)
      const [last] = arrivals.at(-1) ?? []
      expect((await status()).statusMessage ?? '').to.not.match(last ?? /^$/)
      await world.stop()
    })
})

/** Controllers that read our kinds without observing them, and why they do not wait for these. */
const UNHEARD: Readonly<Record<string, string>> = {
  BlueprintExecution: 'a missing object fails it, and permissions are checked again while it runs',
  BoundaryProjection: 'the boundary exists before its projection',
  ComponentInstall: 'a missing object fails it',
  DenyAssignment: 'it does not apply to objects created after a grant',
  DeploymentRecord: 'a missing object fails a deployment',
  DeploymentSource: 'it reads the deployments that it has created',
  IdpBinding: 'it reads the assignments that it has created',
  JitRequest: 'it does not apply to objects created after a grant',
  ObjectStorageAccount: 'the plans of others count in quotas',
  PlatformApp: 'a deployment copies its source when it is requested',
  PlatformDriftScan: 'it scans once',
  RelationalSnapshot: 'its database waits for the cluster and requeues it',
  ResourceGroup: 'pins and repositories count while it is being deleted',
  RetentionRun: 'it scans once',
  RoleAssignment: 'it does not apply to objects created after a grant',
  RolloutExecution: 'a missing object fails it',
  RolloutPlan: 'it is planned again when it is executed',
  SecretVault: 'the plans of others count in quotas',
  StaticWebApp: 'a deployment copies its source when it is requested',
}

describe('controllers', () => {
  it('observe each of our kinds that they read, except for the listed ones', async () => {
    let controllers: readonly Controller[] = []
    const world = new World((all) => {
      controllers = all
      return []
    })
    await world.lead()
    await world.stop()
    const ours = new Set(KINDS.map(({ resource }) => resourceId(resource)))
    const unheard = controllers.filter(({ kind, observes, reads }) => {
      const heard = new Set([kind.resource, ...observes.map(resourceOf)].map(resourceId))
      return reads.map((read) => resourceId(resourceOf(read))).some((id) => ours.has(id) && !heard.has(id))
    })
    expect(unheard.map(({ kind }) => kind.kind).sort()).to.deep.equal(Object.keys(UNHEARD).sort())
  })
})
