import { expect } from 'chai'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import { SecretVault } from '../../src/crds/vaults.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { SeededRandom } from '../make/random.ts'
import { RESOURCES } from './apiServer.ts'
import { LateStatefulSets } from './lateStatefulSets.ts'
import { HOME, seedGroup } from './seeds.ts'
import { World } from './world.ts'

/** From the deletion of an object on, of the operator. */
export const MOST_WRITES = 50

/** Each workload kind with what it is made of, and the changes that somebody may make to it. */
export const WORKLOADS: readonly { kind: AnyKind; spec: object; changes: readonly object[] }[] = [
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
    changes: [{ storageSize: '20Gi' }, { computePlan: 'sql-small' }, { running: false }, { running: true }],
  },
  {
    kind: RelationalCluster,
    spec: { computePlan: 'relational-small' },
    changes: [{ replicas: 3 }, { running: false }, { running: true }, { finalSnapshotOnDelete: true }],
  },
  { kind: SecretVault, spec: {}, changes: [{ softDeleteRetentionDays: 60 }] },
]

class Sequence {
  readonly random: SeededRandom
  readonly stateful: { play?: LateStatefulSets } = {}
  readonly world: World
  readonly told: string[] = []

  constructor(seed: number) {
    this.random = new SeededRandom(seed)
    const names = ['vectorcluster', 'sqlinstance', 'relationalcluster', 'relationalsnapshot', 'secretvault']
    this.world = new World(
      (all) => all.filter(({ name }) => names.includes(name)),
      false,
      (server) => (this.stateful.play = new LateStatefulSets(server, this.random)),
    )
    seedGroup(this.world.server)
  }

  async wait(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) await this.world.round()
  }

  /** @returns how many writes the deletion took */
  async play(): Promise<number> {
    const { world, random } = this
    const { kind, spec, changes } = random.pick(WORKLOADS)
    await world.lead()
    const before = this.#stored()
    this.told.push(`makes a ${kind.kind}`)
    await world.make(kind, 'thing', spec)
    await this.wait(random.below(8))
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
    expect(left, 'what is deleted goes').to.equal(undefined)
    const since = world.writes - writes
    expect(since, 'writes from its deletion on').to.be.at.most(MOST_WRITES)
    const kept = this.#stored().filter((key) => !before.includes(key))
    expect(
      kept.filter((key) => !key.startsWith(RelationalSnapshot.plural) && !key.startsWith('backups')),
      'what is left',
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
 * @throws Error with the seed and the story of the first one that leaves something, or takes too many writes
 */
export async function playSequences(count: number, seed: number): Promise<number> {
  let most = 0
  for (let each = seed * 100_000; each < seed * 100_000 + count; each += 1) {
    const sequence = new Sequence(each)
    try {
      most = Math.max(most, await sequence.play())
    } catch (error) {
      throw new Error(`seed ${each} (${sequence.told.join('; ')}): ${(error as Error).message}`, { cause: error })
    } finally {
      await sequence.world.stop()
    }
  }
  return most
}
