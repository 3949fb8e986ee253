import type { KubeObject } from '../../src/core/object.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { WatchCache } from '../../src/kube/cache.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { type Fleet, makeFleet, untilFleetIsReady } from '../worlds/fleet.ts'
import { atMost } from './goals.ts'
import { percentiles, ratio } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { databases, timed } from './reconcile.ts'
import { circumstances, UNLIMITED } from './stage.ts'

const GROUPS = 40
/** Requests that the API server lets a principal have under way. */
const AT_ONCE = 6
/** Of each arm in each round. */
const SAMPLES = 9
/** How many times longer it took beside the noise while namespaces took turns instead of boundaries. */
const BEFORE = 25

/**
 * From the creation of a stopped database to its condition Ready, alone and beside another boundary that changes the specs
 * of its databases in forty groups again and again, so that its keys always wait.
 */
export async function runNeighbours({ rounds, count = 200 }: BenchmarkOptions): Promise<object> {
  const own = await OwnPlatform.prepare({ environment: UNLIMITED })
  let cache: WatchCache<KubeObject> | undefined
  try {
    await own.startOperator()
    const noisy = await makeFleet(own.admin, { groups: GROUPS, databases: count, spec: { running: false } })
    await untilFleetIsReady(own.admin, noisy, 1_800_000)
    const { namespaces } = await makeFleet(own.admin, { groups: 1, databases: 0 })
    const [namespace = ''] = namespaces
    cache = new WatchCache({ client: own.admin, resource: VectorCluster.resource, namespace })
    cache.start()
    await cache.whenSynced()
    const calm = databases(own.admin, namespace, cache)
    let made = 0
    const samples = async () => {
      const taken: number[] = []
      while (taken.length < SAMPLES) taken.push(await timed(calm, `calm-${made++}`))
      return percentiles(taken).p50
    }
    await samples()
    const found: { quiet: number; beside: number; changes: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const quiet = await samples()
      const end = changeAgainAndAgain(own.admin, noisy)
      const beside = await samples()
      found.push({ quiet, beside, changes: await end() })
    }
    const times = ratio(found.map(({ quiet, beside }) => beside / quiet))
    return {
      benchmark: 'neighbours',
      ...circumstances({ own }),
      rounds: found,
      besideOverAlone: times,
      goals: [atMost('creation to Ready beside a noisy tenant over alone, p50', '', BEFORE / 2, times.median)],
    }
  } finally {
    await cache?.stop()
    await own.stop()
  }
}

/** @returns ends it, and tells how many changes there were */
function changeAgainAndAgain(client: KubeClient, { namespaces, databases: count }: Fleet): () => Promise<number> {
  let [isOver, changes] = [false, 0]
  const change = async () => {
    while (!isOver) {
      const at = changes++ % count
      const ref = { namespace: namespaces[at % namespaces.length] ?? '', name: `db-${String(at).padStart(5, '0')}` }
      await client.mergePatch(VectorCluster.resource, ref, { spec: { tags: { change: String(changes) } } })
    }
  }
  const all = Promise.all(Array.from({ length: AT_ONCE }, change))
  return async () => {
    isOver = true
    await all
    return changes
  }
}
