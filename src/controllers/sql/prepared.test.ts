import { expect } from 'chai'
import { StatefulWorld } from '../../../test/worlds/statefulWorld.ts'
import { SqlFault, type SqlFaultReason } from '../../adapters/sql/port.ts'
import { SqlInstance } from '../../crds/sql.ts'

describe('preparation of a SqlInstance', () => {
  const words: [reason: SqlFaultReason, says: RegExp][] = [
    ['Unreachable', /^(Updating|Provisioning) WaitingForWorkload: The engine does not answer yet\.$/],
    ['Unauthorized', /WaitingForWorkload: The engine does not accept its administrator\.$/],
    ['Failed', /^Degraded EngineRefused: The engine refused to make the database "app" and its logins \(448\)\.$/],
    [
      'InvalidValue',
      /^Degraded EngineRefused: The engine refused to make the database "app" and its logins \(448\)\.$/,
    ],
  ]
  for (const [reason, says] of words)
    it(`reports and retries the fault ${reason}`, async () => {
      let fault: SqlFault | undefined = new SqlFault(reason, 'The engine rejected it.', { engineCode: '448' })
      const prepare = async () => {
        if (fault !== undefined) throw fault
      }
      const world = await new StatefulWorld({ prepare }).start()
      try {
        await world.create(SqlInstance, 'books', { acceptEula: true, collation: 'Nowhere_CI_AS' })
        expect(await world.says(SqlInstance, 'books')).to.match(says)
        fault = undefined
        await world.bench.clock.advance(60_000)
        await world.converge()
        expect(await world.says(SqlInstance, 'books')).to.match(/^Running Available/)
      } finally {
        await world.stop()
      }
    })

  it('continues with an invalid time zone that an earlier version accepted', async () => {
    const world = await new StatefulWorld().start()
    try {
      await world.create(SqlInstance, 'books', { engine: 'MariaDb' })
      await world.change(SqlInstance, 'books', { timeZone: 'Mars/Olympus' })
      expect(await world.says(SqlInstance, 'books')).to.match(/^Running Available/)
    } finally {
      await world.stop()
    }
  })

  it('rejects an invalid time zone of a new instance', async () => {
    const world = await new StatefulWorld().start()
    try {
      await world.create(SqlInstance, 'books', { engine: 'MariaDb', timeZone: 'Mars/Olympus' })
      expect(await world.says(SqlInstance, 'books')).to.match(/ConfigurationInvalid: .*"Mars\/Olympus"/)
    } finally {
      await world.stop()
    }
  })
})
