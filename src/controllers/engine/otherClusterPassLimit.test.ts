import { expect } from 'chai'
import { settle } from '../../../test/make/clock.ts'
import { until } from '../../../test/make/until.ts'
import { controllerWorld } from '../../../test/worlds/runner.ts'
import { OtherClusterPassLimit } from './otherClusterPassLimit.ts'

const WORKERS = 4

describe('OtherClusterPassLimit', () => {
  let begun: string[]
  let ends: Map<string, () => void>
  let elsewhere: OtherClusterPassLimit
  beforeEach(() => {
    begun = []
    ends = new Map()
    elsewhere = new OtherClusterPassLimit(WORKERS, (key) => void work(clusterOf(key), key))
  })

  const clusterOf = (key: string) => (key.startsWith('own') ? undefined : key.split('/')[0])
  const work = (clusterId: string | undefined, key: string) =>
    elsewhere.take(clusterId, key, () => {
      begun.push(key)
      return new Promise<void>((resolve) => ends.set(key, resolve))
    })
  const ask = (...keys: string[]) => {
    for (const key of keys) void work(clusterOf(key), key)
  }

  it('keeps a worker free while several other clusters do not answer', () => {
    ask('slow/1', 'slow/2', 'slow/3', 'slow/4', 'other/1', 'other/2', 'third/1', 'third/2')
    expect(begun).to.deep.equal(['slow/1', 'slow/2', 'other/1'])
    ask('own/1')
    expect(begun).to.include('own/1')
  })

  it('runs waiting keys when workers become free, each key once', async () => {
    ask('slow/1', 'slow/2', 'slow/3', 'slow/3', 'slow/4', 'other/1', 'other/2')
    ends.get('slow/1')?.()
    await settle()
    ends.get('other/1')?.()
    await settle()
    ends.get('slow/2')?.()
    await settle()
    for (let round = 0; round < 5; round += 1) {
      for (const end of ends.values()) end()
      await settle()
    }
    expect([...begun].sort()).to.deep.equal(['other/1', 'other/2', 'slow/1', 'slow/2', 'slow/3', 'slow/4'])
  })

  it('releases a worker after a failed pass', async () => {
    const failed = () => Promise.reject(new Error('no'))
    for (let count = 0; count < WORKERS; count += 1) await elsewhere.take('slow', 'key', failed).catch(() => {})
    ask('slow/1')
    expect(begun).to.deep.equal(['slow/1'])
  })
})

describe('Runner with objects in several clusters', () => {
  const world = controllerWorld()

  it('reconciles its own objects while another cluster does not answer', async () => {
    const clusterOf = ({ metadata }: { metadata: { name: string } }) =>
      metadata.name.startsWith('far') ? 'far' : undefined
    world.make({ clusterOf })
    const { client } = world.bench
    const silence = Promise.withResolvers<never>()
    const patch = client.mergePatch.bind(client)
    client.mergePatch = (resource, ref, ...more) =>
      ref.name.startsWith('far') ? silence.promise : patch(resource, ref, ...more)
    for (let count = 0; count < 2 * WORKERS; count += 1) world.seed(`far-${count}`)
    world.seed('own')
    const started = world.bench.start()
    await until('its own is ready', async () => {
      await settle()
      return (await world.ready('own')).length > 0
    }).finally(() => silence.reject(new Error('The cluster has gone.')))
    await started
  })
})
