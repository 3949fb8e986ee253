import type { KubeObject } from '../../src/core/object.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { WatchCache } from '../../src/kube/cache.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { type Fleet, makeFleet, objectOf, untilFleetIsReady } from '../worlds/fleet.ts'
import { atMost } from './goals.ts'
import { percentiles, ratio } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { databases, timed } from './reconcile.ts'
import { circumstances, UNLIMITED } from './stage.ts'

const GROUPS = 40
const AT_ONCE = 50
/** Samples per arm and round: few, or the noisy boundary has no waiting keys any more. */
const SAMPLES = 3
/** The ratio when namespaces took turns instead of boundaries. */
const BEFORE = 72

/**
 * The time from creating a stopped database until it is Ready, alone and while another boundary, which has just created
 * many in forty groups, has waiting keys. Nothing is written meanwhile, so the API server is not measured.
 */
export async function runNeighbours({ rounds, count = 200 }: BenchmarkOptions): Promise<object> {
  const own = await OwnPlatform.prepare({ environment: UNLIMITED })
  let cache: WatchCache<KubeObject> | undefined
  try {
    await own.startOperator()
    const busy = { ...(await makeFleet(own.admin, { groups: GROUPS, databases: 0 })), databases: count }
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
    const found: { quiet: number; beside: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const quiet = await samples()
      await makeMore(own.admin, busy, round)
      found.push({ quiet, beside: await samples() })
      await untilFleetIsReady(own.admin, busy, 1_800_000)
    }
    const times = ratio(found.map(({ quiet, beside }) => beside / quiet))
    return {
      benchmark: 'neighbours',
      databases: count,
      ...circumstances({ own }),
      rounds: found,
      besideOverAlone: times,
      goals: [atMost('creation to Ready beside a busy boundary over alone, p50', '', BEFORE / 2, times.median)],
    }
  } finally {
    await cache?.stop()
    await own.stop()
  }
}

async function makeMore(client: KubeClient, { namespaces, databases: count }: Fleet, round: number): Promise<void> {
  let next = 0
  const make = async () => {
    while (next < count) {
      const at = next++
      const namespace = namespaces[at % namespaces.length] ?? ''
      const database = objectOf(VectorCluster, `more-${round}-${at}`, namespace, { running: false })
      await client.create(VectorCluster.resource, database)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, make))
}
