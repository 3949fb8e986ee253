import { expect } from 'chai'
import { customResourceDefinition } from '../../src/kube/builtin.ts'
import { seedGroup } from './seeds.ts'
import { WORKLOADS } from './sequences.ts'
import { World } from './world.ts'

describe('a platform without engines', () => {
  for (const { kind, spec, parts } of WORKLOADS)
    it(`settles and deletes a ${kind.kind} with its parts`, async () => {
      const world = new World((all) => all)
      seedGroup(world.server)
      for (const { metadata } of [...world.server.stored(customResourceDefinition)])
        await world.server.remove(customResourceDefinition, { name: metadata.name })
      world.engines.platformKeys.retire('first')
      try {
        await world.lead()
        await world.make(kind, 'thing', spec)
        const others = parts?.('thing') ?? []
        for (const part of others) await world.make(part.kind, part.name, part.spec)
        await world.pass(60_000)
        const { writes } = world
        await world.pass(60_000)
        expect(world.writes - writes, 'writes in a minute without a change').to.equal(0)
        await world.remove(kind, 'thing')
        await world.until('it is gone', () => world.isGone(kind, 'thing'))
      } finally {
        await world.stop()
      }
    })
})
