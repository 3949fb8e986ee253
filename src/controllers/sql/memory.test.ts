import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { statefulSet } from '../../kube/builtin.ts'

describe('the memory of a SQL engine whose plan sets the limit', () => {
  let world: StatefulWorld
  beforeEach(async () => {
    world = await new StatefulWorld().start()
  })
  afterEach(() => world.stop())

  it('is no more than the container has, or nothing is started', async () => {
    await world.create(SqlInstance, 'books', { engine: 'MariaDb', memoryLimitMb: 2049 })
    expect(await world.says(SqlInstance, 'books')).to.equal(
      'Failed ConfigurationInvalid: memoryLimitMb must not be more than memoryLimit, which is 2Gi: the container would be killed.',
    )
    expect(await world.find(statefulSet, 'sqli-books')).to.equal(undefined)
  })

  it('may be all of it, and the instance goes on once it is', async () => {
    await world.create(SqlInstance, 'books', { engine: 'MariaDb', memoryLimitMb: 2049 })
    await world.change(SqlInstance, 'books', { memoryLimitMb: 2048 })
    expect(await world.says(SqlInstance, 'books')).to.match(/^Running Available/)
  })
})
