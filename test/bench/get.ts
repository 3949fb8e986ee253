import { VectorCluster } from '../../src/crds/vector.ts'
import { atMost } from './goals.ts'
import { compare, fetchJson } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { circumstances, setStage } from './stage.ts'

const CONNECTIONS = 20

/**
 * B1: one GET of a 2 KB resource through the facade, cached and uncached, compared with the same object read directly.
 */
export async function runGet({ rounds, seconds, count = 200 }: BenchmarkOptions): Promise<object> {
  const stage = await setStage(count)
  try {
    const { fleet, ours, raw } = stage
    const names = Array.from({ length: count }, (_, index) => `db-${String(index).padStart(5, '0')}`)
    const [home = ''] = fleet.namespaces
    const { group, version, plural } = VectorCluster.resource
    const facade = {
      ...ours,
      paths: names.map(
        (name) => `/boundaries/${fleet.boundaryId}/resourcegroups/fleet-0/resources/vectorclusters/${name}`,
      ),
    }
    const server = {
      ...raw,
      paths: names.map((name) => `/apis/${group}/${version}/namespaces/${home}/${plural}/${name}`),
    }
    await compareContents(facade, server)
    const through = {
      ...facade,
      name: 'facade, read through',
      headers: { ...facade.headers, 'cache-control': 'no-cache' },
    }
    const options = { connections: CONNECTIONS, rounds, milliseconds: seconds * 1000 }
    const cached = await compare(facade, server, options)
    const readThrough = await compare(through, server, options)
    return {
      benchmark: 'get',
      ...circumstances(stage),
      connections: CONNECTIONS,
      cached,
      readThrough,
      goals: [
        atMost('p50 of a cached GET over a raw one', '', 0.33, cached.p50.median),
        atMost('p99 of a cached GET over a raw one', '', 0.5, cached.p99.median),
        atMost('p50 of a GET that is read through over a raw one', '', 1.1, readThrough.p50.median),
      ],
    }
  } finally {
    await stage.stop()
  }
}

async function compareContents(
  facade: Parameters<typeof fetchJson>[0],
  server: Parameters<typeof fetchJson>[0],
): Promise<void> {
  for (const index of [0, Math.floor(facade.paths.length / 2), facade.paths.length - 1]) {
    const dto = (await fetchJson(facade, facade.paths[index] ?? '')) as { name: string; tags: object }
    const object = (await fetchJson(server, server.paths[index] ?? '')) as {
      metadata: { name: string }
      spec: { tags: object }
    }
    const same = dto.name === object.metadata.name && JSON.stringify(dto.tags) === JSON.stringify(object.spec.tags)
    if (!same) throw new Error(`The arms return different objects: ${dto.name} and ${object.metadata.name}.`)
  }
}
