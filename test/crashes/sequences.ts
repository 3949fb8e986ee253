import { expect } from 'chai'
import { functionObjectName } from '../../src/contracts/functions.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { PlatformApp } from '../../src/crds/apps.ts'
import { ContainerInstance } from '../../src/crds/containerinstances.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { DeploymentRecord } from '../../src/crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import { StaticWebApp } from '../../src/crds/staticwebapps.ts'
import { SecretVault } from '../../src/crds/vaults.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { SeededRandom } from '../make/random.ts'
import { RESOURCES } from './apiServer.ts'
import { LateStatefulSets } from './lateStatefulSets.ts'
import { HOME, seedGroup } from './seeds.ts'
import { World } from './world.ts'

/** Limit of the operator's writes after the deletion of an object. */
export const MOST_WRITES = 50

export type Workload = {
  kind: AnyKind
  spec: object
  /** The body for creating one with REST; empty if absent. */
  body?: object
  /** Possible changes by a user. */
  changes: readonly object[]
  /** Parts that a user may create in it; they are deleted with it. */
  parts?: (name: string) => readonly { kind: AnyKind; name: string; spec: object }[]
}

const IMAGE = 'registry.example.com/site:1'
const NEXT = 'registry.example.com/site:2'
/** As an API server stores them, with defaults. */
const components = (image: string) => ({
  components: ContainerInstance.spec.shape.components.parse([
    { name: 'web', image, ports: [{ name: 'http', port: 8080 }] },
  ]),
})

/** Each kind of resource with its prerequisites, and what happens to it before its deletion. */
export const WORKLOADS: readonly Workload[] = [
  {
    kind: VectorCluster,
    spec: { computePlan: 'vector-dev', storageSize: '10Gi', replicas: 2 },
    changes: [
      { storageSize: '20Gi' },
      { storageSize: '40Gi' },
      { replicas: 3 },
      { running: false },
      { running: true },
      { enableLoadBalancer: true },
    ],
  },
  {
    kind: SqlInstance,
    spec: { computePlan: 'sql-dev', engine: 'MariaDb', storageSize: '10Gi' },
    body: { engine: 'MariaDb' },
    changes: [{ storageSize: '20Gi' }, { computePlan: 'sql-small' }, { running: false }, { running: true }],
  },
  {
    kind: RelationalCluster,
    spec: { computePlan: 'relational-small' },
    changes: [{ replicas: 3 }, { running: false }, { running: true }, { finalSnapshotOnDelete: true }],
  },
  { kind: SecretVault, spec: {}, changes: [{ softDeleteRetentionDays: 60 }] },
  {
    kind: ContainerInstance,
    spec: {
      ...components(IMAGE),
      volumes: [{ name: 'disk', kind: 'Persistent', size: '1Gi', storageClass: 'standard' }],
    },
    body: { components: [{ name: 'web', image: IMAGE }] },
    changes: [components(NEXT), { running: false }, { running: true }, { managedIdentity: true }, { isPublic: true }],
  },
  {
    kind: PlatformApp,
    spec: { sourceKind: 'Image', image: IMAGE },
    body: { sourceKind: 'Image', image: IMAGE },
    changes: [{ image: NEXT }, { image: IMAGE }, { replicas: 2 }, { running: false }, { running: true }],
  },
  {
    kind: StaticWebApp,
    spec: { image: IMAGE },
    body: { image: IMAGE },
    changes: [{ image: NEXT }, { image: IMAGE }, { isSinglePage: false }, { running: false }, { running: true }],
  },
  {
    kind: FunctionNamespace,
    spec: { runtime: 'nodejs' },
    body: { runtime: 'nodejs' },
    changes: [{ maxConcurrency: 7 }, { managedIdentity: true }, { managedIdentity: false }],
    parts: (namespaceName) => [
      {
        kind: ServerlessFunction,
        name: functionObjectName(namespaceName, 'orders'),
        spec: { namespaceName, functionName: 'orders', handler: 'index', image: IMAGE, minReplicas: 1 },
      },
    ],
  },
  {
    kind: PlatformJob,
    spec: { computePlan: 'job-small', image: 'registry.example.com/report' },
    body: { image: 'registry.example.com/report' },
    changes: [{ tags: { team: 'books' } }],
  },
  {
    kind: ObjectStorageAccount,
    spec: {},
    changes: [{ enablePublicAccess: true }, { maxBuckets: 7 }],
    // No bucket: it holds the account until a user deletes it.
    parts: (accountName) => [{ kind: ObjectAccessKey, name: `${accountName}-key`, spec: { accountName } }],
  },
]

/** The controllers of these kinds, of their parts, and of their prerequisites. */
const CONTROLLERS: readonly string[] = [
  ...WORKLOADS.flatMap(({ kind, parts }) => [kind, ...(parts?.('thing') ?? []).map((part) => part.kind)]),
  RelationalSnapshot,
  DeploymentRecord,
  AccountBucket,
  ManagedIdentity,
].map(({ kind }) => kind.toLowerCase())

class Sequence {
  readonly random: SeededRandom
  readonly stateful: { play?: LateStatefulSets } = {}
  readonly world: World
  readonly told: string[] = []

  constructor(seed: number) {
    this.random = new SeededRandom(seed)
    this.world = new World(
      (all) => all.filter(({ name }) => CONTROLLERS.includes(name)),
      false,
      (server) => (this.stateful.play = new LateStatefulSets(server, this.random)),
    )
    seedGroup(this.world.server)
  }

  async wait(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) await this.world.round()
  }

  /** @returns how many writes the deletion took */
  async play({ kind, spec, changes, parts }: Workload): Promise<number> {
    const { world, random } = this
    await world.lead()
    const before = this.#stored()
    this.told.push(`makes a ${kind.kind}`)
    await world.make(kind, 'thing', spec)
    await this.wait(random.below(8))
    for (const part of parts?.('thing') ?? []) {
      if (random.chance(0.3)) continue
      this.told.push(`makes a ${part.kind.kind} in it`)
      await world.make(part.kind, part.name, part.spec)
      await this.wait(random.below(4))
    }
    for (let count = random.below(4); count > 0; count -= 1) {
      const change = random.pick(changes)
      this.told.push(`changes it: ${JSON.stringify(change)}`)
      await world.change(kind, 'thing', change)
      await this.wait(random.below(6))
    }
    this.told.push('deletes it')
    const writes = world.writes
    await world.remove(kind, 'thing')
    for (
      let round = 0;
      round < 150 && !((await world.isGone(kind, 'thing')) && this.stateful.play?.isBusy === false);
      round += 1
    ) {
      await world.round()
      if (round % 10 === 9) await world.clock.advance(5_000)
    }
    await this.wait(6)
    const left = (await world.find(kind.resource, 'thing'))?.status
    expect(left, 'status of the deleted object').to.equal(undefined)
    const since = world.writes - writes
    expect(since, 'writes since the deletion').to.be.at.most(MOST_WRITES)
    const kept = this.#stored().filter((key) => !before.includes(key))
    expect(
      kept.filter((key) => !key.startsWith(RelationalSnapshot.plural) && !key.startsWith('backups')),
      'remaining objects',
    ).to.deep.equal([])
    return since
  }

  #stored(): string[] {
    return RESOURCES.flatMap((resource: Resource) =>
      [...this.world.server.stored(resource)]
        .filter(({ metadata }: KubeObject) => metadata.namespace === HOME)
        .map(({ metadata }) => `${resource.plural}/${metadata.name}`),
    )
  }
}

/**
 * Plays so many sequences of changes and a deletion.
 *
 * @returns the most writes that a deletion took
 * @throws Error with the seed and the history of the first one that leaves something, or takes too many writes
 */
export async function playSequences(count: number, seed: number): Promise<number> {
  let most = 0
  for (let each = seed * 100_000; each < seed * 100_000 + count; each += 1) {
    const sequence = new Sequence(each)
    try {
      // Round robin, so that even a few sequences cover all kinds.
      const workload = WORKLOADS[each % WORKLOADS.length] as Workload
      most = Math.max(most, await sequence.play(workload))
    } catch (error) {
      throw new Error(`seed ${each} (${sequence.told.join('; ')}): ${(error as Error).message}`, { cause: error })
    } finally {
      await sequence.world.stop()
    }
  }
  return most
}
