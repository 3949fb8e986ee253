import { expect } from 'chai'
import { TARGET } from '../../../test/make/relational.ts'
import { RelationalWorld } from '../../../test/worlds/relationalWorld.ts'
import type { KubeObject } from '../../core/object.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'

type Engine = KubeObject & { spec: { imageName: string; postgresql: { parameters: Record<string, string> } } }

describe('version upgrade of a RelationalCluster', () => {
  let world: RelationalWorld
  beforeEach(async () => {
    world = await new RelationalWorld({ target: TARGET }).start()
    world.database('orders', { engineVersion: '16', parameters: { work_mem: '4MB', jit: 'off' } })
    await world.bench.rest()
    await world.play('orders')
  })
  afterEach(() => world.bench.stop())

  /** The version and parameters of its Cluster. */
  async function cluster(): Promise<string> {
    const found = await world.bench.find<Engine>(postgresqlCluster, 'relc-orders', world.home)
    const { imageName = '', postgresql } = found?.spec ?? {}
    return `${imageName.split(':')[1]} ${JSON.stringify(postgresql?.parameters)}`
  }
  async function statesOf(change: () => Promise<unknown>): Promise<string[]> {
    const { client } = world.bench
    const states = [await cluster()]
    for (const verb of ['apply', 'mergePatch', 'update'] as const) {
      const write = client[verb].bind(client) as (...given: unknown[]) => Promise<unknown>
      client[verb] = (async (...given: unknown[]) => {
        const written = await write(...given)
        const state = await cluster()
        if (given[0] === postgresqlCluster && state !== states.at(-1)) states.push(state)
        return written
      }) as never
    }
    await change()
    await world.bench.rest()
    return states
  }

  // CloudNativePG rejects a Cluster in which both change at once.
  for (const [sentence, parameters, wanted] of [
    ['a changed parameter', { work_mem: '8MB', jit: 'off' }, { work_mem: '8MB', jit: 'off' }],
    ['a removed parameter', { work_mem: '4MB', jit: null }, { work_mem: '4MB' }],
  ] as const)
    it(`writes the version before ${sentence}`, async () => {
      const states = await statesOf(() => world.change('orders', { engineVersion: '17', parameters }))
      const [before, first, last] = states
      expect(states).to.have.length(3)
      expect(first).to.equal(before?.replace(/^16/, '17'))
      expect(last).to.match(/^17 /)
      const found = await world.bench.find<Engine>(postgresqlCluster, 'relc-orders', world.home)
      expect(found?.spec.postgresql.parameters).to.include(wanted)
      const ours = ['max_connections', 'temp_file_limit']
      expect(found?.spec.postgresql.parameters).to.have.all.keys(...Object.keys(wanted), ...ours)
    })
})
