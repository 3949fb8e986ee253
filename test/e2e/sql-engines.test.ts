import { randomBytes } from 'node:crypto'
import { DriverEngine } from '../../src/adapters/sql/engine.ts'
import {
  mariadbIsMissing,
  postgresqlIsMissing,
  type SqlServer,
  startMariadb,
  startPostgresql,
} from '../cluster/sqlServers.ts'
import { CONTRACT_TABLES, run, type SqlWorld, sqlContract } from '../suites/sqlContract.ts'
import { engineSuite } from '../suites/sqlEngineSuite.ts'

const ENGINES = [
  { name: 'PostgreSQL', missing: postgresqlIsMissing(), start: startPostgresql, schema: 'public' },
  { name: 'MariaDB', missing: mariadbIsMissing(), start: startMariadb, schema: 'app' },
]

for (const { name, missing, start, schema } of ENGINES) {
  // Said plainly in the list of tests: nothing was shown about an engine that is not here.
  if (missing !== undefined) {
    describe(`${name} itself`, () => {
      it(`is skipped: ${missing}`, function () {
        this.skip()
      })
    })
    continue
  }

  describe(`${name} itself`, () => {
    let server: SqlServer
    let world: SqlWorld

    before(async () => {
      server = await start()
      const engine = new DriverEngine(server.driver)
      const login = (user: string) => ({ user, password: `p'\\${randomBytes(6).toString('hex')}` })
      const logins = { reader: login('app_reader'), writer: login('app_writer'), owner: login('app') }
      await engine.prepare(server.target, { database: 'app', logins })
      // Twice, as a controller does that died in between.
      await engine.prepare(server.target, { database: 'app', logins })
      const others = { reader: login('other_reader'), writer: login('other_writer'), owner: login('other') }
      await engine.prepare(server.target, { database: 'closed', logins: others })
      const as = (level: keyof typeof logins) => ({ ...server.target, database: 'app', ...logins[level] })
      const targets = { reader: as('reader'), writer: as('writer'), owner: as('owner') }
      world = { engine, schema, closed: 'closed', targets }
      for (const text of CONTRACT_TABLES) {
        const { failure } = await run(world, 'owner', text)
        if (failure !== undefined) throw new Error(failure.message)
      }
    })

    after(async () => {
      await world?.engine.close()
      await server?.stop()
    })

    sqlContract(name, () => world)
    engineSuite(() => ({ ...world, server }))
  })
}
