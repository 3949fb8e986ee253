import { heapUsed } from '../make/garbage.ts'
import { makeFacade, objectOf, processorTimeOf } from './facadeStage.ts'
import { atMost } from './goals.ts'
import { ratio } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { machine, SPEC } from './stage.ts'

const SIZES = [1_000, 10_000, 50_000] as const
/** The interface's limit for one page. */
const PAGE = 500
/** Objects listed per round at each size, so that small lists are not measured in single clock ticks. */
const WALKED = 50_000

type Walk = { objects: number; milliseconds: ReturnType<typeof ratio>; heapBytesPerObject: number }

/**
 * Whole lists page by page, at three sizes: the processor time of the serving thread, after a warm-up, and the heap per
 * object in the caches of a process with facade and controllers, compared with the heap of the same objects parsed and
 * kept whole, as informers do.
 */
export async function runLists({ rounds }: BenchmarkOptions): Promise<object> {
  const walks: Walk[] = []
  for (const size of SIZES) walks.push(await measured(size, rounds))
  const at = (size: (typeof SIZES)[number]) => walks.find(({ objects }) => objects === size)
  const [small = 0, large = 0, largest = 0] = SIZES.map((size) => at(size)?.milliseconds.median)
  return {
    benchmark: 'lists',
    ...machine(),
    walks,
    heapBytesPerObjectWithTagsAlike: await heapWithTagsAlike(10_000),
    heapBytesPerParsedObject: await parsedHeap(10_000),
    goals: [
      atMost('whole list of 10,000 over one of 1,000', '', 11, large / small),
      atMost('an object of 50,000 over one of 10,000', '', 1.5, largest / large / 5),
      atMost('heap of a 2 KB object', 'KiB', 1.5, (at(10_000)?.heapBytesPerObject ?? 0) / 1024),
    ],
  }
}

async function measured(size: number, rounds: number): Promise<Walk> {
  const { stop, list, heapBytes, origin, headers } = await makeFacade(size)
  try {
    const pages = Math.ceil(size / PAGE)
    const paths = Array.from({ length: pages }, (_, index) => `${list}?page=${index + 1}&pageSize=${PAGE}`)
    const first = (await (await fetch(origin + (paths[0] ?? ''), { headers })).json()) as {
      items?: unknown[]
      pagination?: { totalItems: number }
    }
    if (first.pagination?.totalItems !== size || first.items?.length !== PAGE)
      throw new Error('The list is incomplete.')
    const requests = Math.max(pages, Math.round(WALKED / PAGE))
    const walk = () => processorTimeOf({ origin, paths, headers }, { connections: 1, requests })
    await walk()
    const microseconds: number[] = []
    for (let round = 0; round < rounds; round += 1) microseconds.push(await walk())
    const milliseconds = ratio(microseconds.map((each) => (each * pages) / 1000))
    return { objects: size, milliseconds, heapBytesPerObject: Math.round(heapBytes / size) }
  } finally {
    await stop()
  }
}

async function heapWithTagsAlike(count: number): Promise<number> {
  const { stop, heapBytes } = await makeFacade(count, 'alike')
  await stop()
  return Math.round(heapBytes / count)
}

async function parsedHeap(count: number): Promise<number> {
  const texts = Array.from({ length: count }, (_, index) =>
    JSON.stringify(objectOf(`db-${index}`, 'shop', index, SPEC)),
  )
  const before = await heapUsed()
  const kept = texts.map((text) => ({ text, object: JSON.parse(text) as object }))
  return Math.round(((await heapUsed()) - before) / kept.length)
}
