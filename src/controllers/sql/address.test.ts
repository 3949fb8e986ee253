import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { sqlNames } from '../../contracts/sql.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { service } from '../../kube/builtin.ts'

describe('publicEndpoint of a SqlInstance', () => {
  for (const [ingress, endpoint] of [
    [{ ip: '203.0.113.7' }, '203.0.113.7:3306'],
    [{ ip: '2001:db8::7' }, '[2001:db8::7]:3306'],
    [{ hostname: 'books.example.com' }, 'books.example.com:3306'],
  ] as const)
    it(`is ${endpoint}`, async () => {
      const world = await new StatefulWorld().start()
      try {
        await world.create(SqlInstance, 'books', { engine: 'MariaDb', enableLoadBalancer: true })
        await world.edit(service, sqlNames('books').publicService, (object) => {
          object.status = { loadBalancer: { ingress: [ingress] } }
        })
        expect(await world.status(SqlInstance, 'books')).to.include({ publicEndpoint: endpoint })
      } finally {
        await world.stop()
      }
    })
})
