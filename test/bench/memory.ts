import { VectorCluster } from '../../src/crds/vector.ts'
import { configMap } from '../../src/kube/builtin.ts'
import { heapUsed } from '../make/garbage.ts'
import { makeFacade } from './facadeStage.ts'
import { atMost } from './goals.ts'
import type { BenchmarkOptions } from './options.ts'
import { machine } from './stage.ts'

const KEPT = 10_000
const ODD = 3_000
/** Concurrent requests. */
const AT_ONCE = 20

type Facade = Awaited<ReturnType<typeof makeFacade>>
/** Bytes of the heap after a garbage collection, and of the whole process. */
type Bytes = {
  heap: number
  resident: number /** How many changes the API server in memory has counted. */
  version: number
}

/**
 * B9: the heap of a 2 KB database in the caches of a process with facade and controllers, and the heap that remains
 * after unusual ones were created, read and deleted over REST, some with annotations of 200 KB from kubectl. Permanent
 * allocations, such as compiled code, exist after the first round: growth in later rounds is a leak.
 */
export async function runMemory({ rounds, count = ODD }: BenchmarkOptions): Promise<object> {
  const { heapBytes, stop } = await makeFacade(KEPT)
  await stop()
  const facade = await makeFacade(0, 'own', 'Contributor')
  try {
    const before = await bytesOf(facade)
    const after: Bytes[] = []
    let most = before
    for (let round = 0; round < Math.max(rounds, 2); round += 1) {
      const names = await makeOdd(facade, round, count)
      most = larger(most, await bytesOf(facade))
      await each(names, (name) => asked(facade, name, 'DELETE', [202, 204]))
      after.push(await bytesOf(facade))
    }
    const [first, last] = [after[0], after.at(-1)]
    if (first === undefined || last === undefined) throw new Error('There was no round.')
    const changes = (last.version - first.version) / (after.length - 1)
    const perRound = (last.heap - first.heap) / (after.length - 1) - changes * (await bytesOfAChange(facade, count))
    return {
      benchmark: 'memory',
      ...machine(),
      heapBytesPerObject: Math.round(heapBytes / KEPT),
      oddRecords: count,
      before,
      withAll: most,
      afterEachRound: after,
      remains: { heap: first.heap - before.heap, resident: first.resident - before.resident },
      remainsOfEachLaterRound: Math.round(perRound),
      heapBytesLeftOfARecord: Math.round(perRound / count),
      goals: [atMost('heap of a 2 KB object', 'KiB', 1.5, heapBytes / KEPT / 1024)],
    }
  } finally {
    await facade.stop()
  }
}

async function bytesOf({ server }: Facade): Promise<Bytes> {
  // The log of calls and changes of the API server in memory is not part of the facade.
  server.calls.length = 0
  server.compact()
  return { heap: await heapUsed(), resident: process.memoryUsage.rss(), version: Number(server.version) }
}

/** What the API server in memory stores about each change, by any writer. */
async function bytesOfAChange(facade: Facade, count: number): Promise<number> {
  const before = await bytesOf(facade)
  for (let index = 0; index < count; index += 1) {
    const metadata = { name: `note-${index}`, namespace: facade.namespace }
    await facade.server.create(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await facade.server.remove(configMap, metadata)
  }
  const after = await bytesOf(facade)
  return (after.heap - before.heap) / (after.version - before.version)
}

const larger = (one: Bytes, other: Bytes) => (other.heap > one.heap ? other : one)

const ODD_TEXTS = ['\u202eolleh', '\ud83e\udd80'.repeat(60), ' ', 'x'.repeat(256), '<b>\u0301\u0301</b>', '{"a":[1]}']

/** As unusual as the rules allow: names and tags of every length, texts of every kind, quantities in every spelling. */
function oddBody(index: number): object {
  const tags = Array.from({ length: index % 50 }, (_, at) => [`t${at}`, ODD_TEXTS[(index + at) % ODD_TEXTS.length]])
  const storageSize = ['5Gi', '5368709120', '5.5Gi', '6000M', '0.01Ti'][index % 5]
  return { storageSize, tags: Object.fromEntries(tags) }
}

/** @returns their names */
async function makeOdd(facade: Facade, round: number, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `r${round}-${index}-${'o'.repeat(index % 20)}x`)
  const list = names.map((name, index) => ({ name, index }))
  await each(list, ({ name, index }) => asked(facade, name, 'POST', [201], oddBody(index)))
  const note = JSON.stringify(ODD_TEXTS).padEnd(200_000, '\u00e9')
  for (const { name, index } of list) {
    if (index % 100 !== 0) continue
    const ref = { namespace: facade.namespace, name }
    await facade.server.mergePatch(VectorCluster.resource, ref, {
      metadata: { annotations: { 'example.com/note': note } },
    })
  }
  await each(names, (name) => asked(facade, name, 'GET', [200]))
  return names
}

async function asked(
  { origin, list, headers }: Facade,
  name: string,
  method: string,
  expected: readonly number[],
  body?: object,
): Promise<void> {
  const more = body && { body: JSON.stringify(body) }
  const answer = await fetch(`${origin}${list}/${name}`, {
    ...{ method, headers: { ...headers, ...(body && { 'content-type': 'application/json' }) } },
    ...more,
  })
  const text = await answer.text()
  if (!expected.includes(answer.status)) throw new Error(`${method} ${name}: ${answer.status} ${text.slice(0, 500)}`)
}

async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all]
  const take = async () => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await work(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, take))
}
