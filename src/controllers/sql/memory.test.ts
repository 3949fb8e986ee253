import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { statefulSet } from '../../kube/builtin.ts'

describe('memoryLimitMb of a SqlInstance', () => {
  let world: StatefulWorld
  beforeEach(async () => {
    world = await new StatefulWorld().start()
  })
  afterEach(() => world.stop())

  it('is rejected above the memory limit of the plan, and no StatefulSet is created', async () => {
    await world.create(SqlInstance, 'books', { engine: 'MariaDb', memoryLimitMb: 2049 })
    expect(await world.says(SqlInstance, 'books')).to.equal(
      'Failed ConfigurationInvalid: memoryLimitMb must not be more than memoryLimit, which is 2Gi: the container would be killed.',
    )
    expect(await world.find(statefulSet, 'sqli-books')).to.equal(undefined)
  })

  it('is accepted once it equals the memory limit of the plan', async () => {
    await world.create(SqlInstance, 'books', { engine: 'MariaDb', memoryLimitMb: 2049 })
    await world.change(SqlInstance, 'books', { memoryLimitMb: 2048 })
    expect(await world.says(SqlInstance, 'books')).to.match(/^Running Available/)
  })
})
