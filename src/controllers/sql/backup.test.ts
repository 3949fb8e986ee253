import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { statefulSet } from '../../kube/builtin.ts'

describe('a SqlInstance whose backups fail', () => {
  it('is degraded, not rolling out, once its engine fails too', async () => {
    const world = await new StatefulWorld().start()
    const { client } = world.bench
    const at = (name: string) => ({ namespace: world.home, name })
    try {
      await world.create(SqlInstance, 'books', { engine: 'MariaDb' })
      client.edit(SqlInstance.resource, at('books'), (object) => {
        object.status = { ...(object.status as object), phase: 'BackupFailing' }
      })
      client.edit(statefulSet, at('sqli-books'), (object) => {
        object.status = { ...(object.status as object), readyReplicas: 0 }
      })
      await world.bench.rest()
      expect((await world.status(SqlInstance, 'books')).phase).to.equal('PartiallyAvailable')
    } finally {
      await world.stop()
    }
  })
})
