import { setTimeout as delay } from 'node:timers/promises'
import { keyOf, type Resource } from '../../src/core/object.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { event } from '../../src/kube/builtin.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { resourceId } from '../../src/kube/object.ts'
import { RESOURCES } from '../crashes/apiServer.ts'
import { MOST_WRITES, playSequences, WORKLOADS, type Workload } from '../crashes/sequences.ts'
import { SeededRandom } from '../make/random.ts'
import { until } from '../make/until.ts'
import { objectOf } from '../worlds/fleet.ts'
import { type Oracle, oracle, seconds } from './oracle.ts'
import type { Scene } from './scene.ts'

const LANES = 6
const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection']
/** What keeps a snapshot: it stays when its database is deleted. */
const KEPT = [RelationalSnapshot.plural, 'backups']

type Lane = { path: string; home: string }
/** The life of an object from its creation to its deletion. */
type Story = { make(lane: Lane, workload: Workload, name: string): Promise<void>; remove: Story['make'] }
type Deletion = { name: string; writes: number; milliseconds: number }

/** In memory, with a controller of StatefulSets that is late. */
export async function sequencesInMemory(runs: number, sequences: number): Promise<Oracle[]> {
  const most: number[] = []
  const failed: string[] = []
  for (let seed = 1; seed <= runs; seed += 1)
    await playSequences(sequences, seed).then(
      (writes) => most.push(writes),
      (error: unknown) => failed.push(String(error)),
    )
  const seen = `${most.length} of ${runs} runs; at most ${Math.max(...most)} writes for a deletion${failed.join('; ')}`
  const sentence = `${runs} runs of ${sequences} random sequences leave nothing, in at most ${MOST_WRITES} writes for a deletion`
  return [oracle(sentence, failed.length === 0, seen)]
}

/** Deleted between 0.05 and 4 s after its creation, by REST. */
export async function deletedSoon(scene: Scene, count: number): Promise<Oracle[]> {
  const pathOf = ({ path }: Lane, { kind }: Workload, name: string) => `${path}/${kind.segment}/${name}`
  const expect = async (wanted: number[], method: string, path: string, body?: object) => {
    const { status, text } = await scene.call(method, path, body)
    if (!wanted.includes(status)) throw new Error(`${method} ${path} was answered ${status}: ${text}`)
  }
  let created = 0
  return play(scene, `deleted 0.05 to 4 s after it was made by REST`, count, {
    async make(lane, workload, name) {
      await expect([201], 'POST', pathOf(lane, workload, name), workload.body ?? {})
      created += 1
      await delay(50 + (3_950 * (created % 80)) / 79)
    },
    remove: (lane, workload, name) => expect([202, 204], 'DELETE', pathOf(lane, workload, name)),
  })
}

/** Changed at random and deleted, as with kubectl. */
export async function sequencesForReal(scene: Scene, count: number, seed: number): Promise<Oracle[]> {
  const random = new SeededRandom(seed)
  const { admin } = scene.own
  const refOf = ({ home }: Lane, name: string) => ({ namespace: home, name })
  return play(scene, 'changed at random and deleted by kubectl', count, {
    async make(lane, { kind, spec, changes, parts }, name) {
      await admin.create(kind.resource, objectOf(kind, name, lane.home, spec))
      await delay(random.below(4_000))
      for (const part of parts?.(name) ?? [])
        await admin.create(part.kind.resource, objectOf(part.kind, part.name, lane.home, part.spec))
      for (let left = random.below(4); left > 0; left -= 1) {
        const change = { spec: random.pick(changes) }
        await admin.mergePatch(kind.resource, refOf(lane, name), change).catch(unlessInvalid)
        await delay(random.below(2_000))
      }
    },
    remove: async (lane, { kind }, name) => void (await admin.remove(kind.resource, refOf(lane, name))),
  })
}

/** A change that does not fit the earlier ones, such as a smaller disk, is refused, as it should be. */
function unlessInvalid(error: unknown): void {
  if (!isKubeError(error, 'Invalid', 'Forbidden')) throw error
}

async function play(scene: Scene, how: string, count: number, story: Story): Promise<Oracle[]> {
  const stem = `lane-${Date.now().toString(36)}`
  const lanes: Lane[] = []
  for (let index = 0; index < LANES; index += 1) lanes.push(await scene.group(`${stem}-${index}`))
  const before = await Promise.all(lanes.map(({ home }) => contents(scene, home)))
  const deletions: Deletion[] = []
  const stuck: string[] = []
  let next = 0
  const work = async (lane: Lane) => {
    while (next < count) {
      const index = next++
      const workload = WORKLOADS[index % WORKLOADS.length] as Workload
      const name = `thing-${index}`
      await tell(scene, lane, workload, name, story).then(
        (one) => deletions.push(one),
        (error: unknown) => stuck.push(`${workload.kind.kind} ${name}: ${String(error)}`),
      )
    }
  }
  await Promise.all(lanes.map(work))
  // A pass of the controller of StatefulSets that was in progress may still create a claim.
  await delay(15_000)
  const left: string[] = []
  for (const [index, { home }] of lanes.entries()) {
    const now = await contents(scene, home)
    left.push(...now.filter((key) => !before[index]?.includes(key)))
  }
  const most = Math.max(...deletions.map(({ writes }) => writes))
  const longest = Math.max(...deletions.map(({ milliseconds }) => milliseconds))
  return [
    oracle(
      `every object ${how} is deleted`,
      stuck.length === 0,
      `${deletions.length} of ${count}, after ${seconds(longest)} at most`,
    ),
    ...stuck.map((story) => oracle('is deleted', false, story)),
    oracle('nothing is left', left.length === 0, left.join(', ') || 'nothing'),
    oracle(`each deletion takes at most ${MOST_WRITES} writes`, most <= MOST_WRITES, `at most ${most}`),
  ]
}

async function tell(scene: Scene, lane: Lane, workload: Workload, name: string, story: Story): Promise<Deletion> {
  const { kind } = workload
  await story.make(lane, workload, name)
  const began = performance.now()
  await story.remove(lane, workload, name)
  const isGone = () =>
    scene.own.admin.get(kind.resource, { namespace: lane.home, name }).then(
      () => false,
      (error: unknown) => isKubeError(error, 'NotFound') || Promise.reject(error as Error),
    )
  await until('the object is deleted', isGone, 120_000)
  const requests = scene.own.proxies?.controllers.requests() ?? []
  const writes = requests.filter(
    ({ at, verb, namespace }) => at >= began && namespace === lane.home && WRITES.includes(verb),
  ).length
  return { name, writes, milliseconds: performance.now() - began }
}

/** The contents of a namespace, by type and name. */
async function contents({ own }: Scene, namespace: string): Promise<string[]> {
  const types = RESOURCES.filter(
    ({ namespaced, plural }) => namespaced && !KEPT.includes(plural) && plural !== event.plural,
  )
  const lists = await Promise.all(types.map((type) => listed(own.admin, type, namespace)))
  return lists.flat()
}

async function listed(admin: Scene['own']['admin'], type: Resource, namespace: string): Promise<string[]> {
  try {
    const { items } = await admin.list(type, { namespace })
    return items.map((object) => `${resourceId(type)} ${keyOf(object)}`)
  } catch (error) {
    // The cluster may lack a type that only an engine installs.
    if (isKubeError(error, 'NotServed')) return []
    throw error
  }
}
