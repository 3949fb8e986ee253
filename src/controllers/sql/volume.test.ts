import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { persistentVolumeClaim } from '../../kube/builtin.ts'

describe('a SQL instance whose volume was replaced', () => {
  it('gets its database and its logins again, and only then', async () => {
    let prepared = 0
    const prepare = async () => {
      prepared += 1
    }
    const world = await new StatefulWorld({ prepare }).start()
    try {
      await world.create(SqlInstance, 'books', { acceptEula: true, engine: 'MariaDb' })
      expect(prepared).to.equal(1)
      const [claim] = (await world.bench.client.list(persistentVolumeClaim, { namespace: world.home })).items
      if (claim === undefined) throw new Error('there is no volume')
      const { name } = claim.metadata
      await world.change(SqlInstance, 'books', { running: false })
      await world.change(SqlInstance, 'books', { running: true })
      expect(prepared, 'the same volume').to.equal(1)
      await world.change(SqlInstance, 'books', { running: false })
      await world.bench.client.remove(persistentVolumeClaim, { namespace: world.home, name })
      await world.change(SqlInstance, 'books', { running: true })
      const [next] = (await world.bench.client.list(persistentVolumeClaim, { namespace: world.home })).items
      expect(next?.metadata.uid).to.not.equal(claim.metadata.uid)
      expect(prepared, 'an empty volume').to.equal(2)
    } finally {
      await world.stop()
    }
  })
})
