import { readFileSync } from 'node:fs'
import { VectorCluster } from '../../src/crds/vector.ts'
import { atMost } from './goals.ts'
import { compare, fetchJson } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { circumstances, setStage } from './stage.ts'

/** The interface's limit for one page. */
const PAGE = 500

/**
 * B2: a list through the facade, compared with the raw list of as many objects. A page has at most 500 items, so the
 * raw arm uses `limit` 500 too, and pages through the whole list for the second figure.
 */
export async function runList({ rounds, seconds, count = 1_000 }: BenchmarkOptions): Promise<object> {
  const stage = await setStage(count)
  try {
    const { fleet, ours, raw } = stage
    const [home = ''] = fleet.namespaces
    const { group, version, plural } = VectorCluster.resource
    const list = `/boundaries/${fleet.boundaryId}/resourcegroups/fleet-0/resources/vectorclusters`
    const facade = { ...ours, paths: [`${list}?pageSize=${PAGE}`] }
    const server = {
      ...raw,
      paths: [`/apis/${group}/${version}/namespaces/${home}/${plural}?limit=${PAGE}&resourceVersion=0`],
    }
    const dto = (await fetchJson(facade, facade.paths[0] ?? '')) as {
      items: { name: string }[]
      pagination: { totalItems: number }
    }
    const objects = (await fetchJson(server, `/apis/${group}/${version}/namespaces/${home}/${plural}`)) as {
      items: { metadata: { name: string } }[]
    }
    const names = objects.items.map(({ metadata }) => metadata.name).sort()
    if (dto.pagination.totalItems !== names.length || dto.items.some(({ name }, index) => name !== names[index])) {
      throw new Error('The arms return different lists.')
    }
    const options = { connections: 1, rounds, milliseconds: seconds * 1000 }
    const page = await compare(facade, server, options)
    const small = await compare(
      { ...facade, paths: [list] },
      { ...server, paths: [`/apis/${group}/${version}/namespaces/${home}/${plural}?limit=50`] },
      options,
    )
    return {
      benchmark: 'list',
      ...circumstances(stage),
      objects: count,
      page500: page,
      page50: small,
      operatorMemory: memoryOf(stage.own.operatorPid),
      goals: [
        atMost(`p50 of a page of ${PAGE} over a raw one`, '', 0.25, page.p50.median),
        atMost('p50 of a page of 50 over a raw one', '', 0.25, small.p50.median),
      ],
    }
  } finally {
    await stage.stop()
  }
}

function memoryOf(pid: number | undefined): string {
  if (pid === undefined) return 'unknown'
  return /VmHWM:\s+(\d+ kB)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 'unknown'
}
