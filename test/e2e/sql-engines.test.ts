import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
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

/**
 * An operator that the database finds before its own, and that makes its owner an administrator if it runs with enough
 * rights.
 */
const TRAP = [
  'CREATE SCHEMA trap',
  `CREATE FUNCTION trap.joined(text, text) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
      EXECUTE 'RESET ROLE';
      EXECUTE 'ALTER ROLE app SUPERUSER';
      RETURN pg_catalog.textcat($1, $2);
    END $$`,
  'CREATE OPERATOR trap.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.joined)',
  'ALTER DATABASE app SET search_path = trap, pg_catalog, public',
]

for (const { name, missing, start, schema } of ENGINES) {
  // Listed explicitly in the test results: an engine that is not installed was not tested.
  if (missing !== undefined) {
    describe(`${name}`, () => {
      it(`skips: ${missing}`, function () {
        this.skip()
      })
    })
    continue
  }

  describe(`${name}`, () => {
    let server: SqlServer
    let world: SqlWorld

    before(async () => {
      server = await start()
      const engine = new DriverEngine(server.driver)
      const login = (user: string) => ({ user, password: `p'\\${randomBytes(6).toString('hex')}` })
      const logins = { reader: login('app_reader'), writer: login('app_writer'), owner: login('app') }
      await engine.prepare(server.target, { database: 'app', logins })
      // Twice, like a controller that is restarted in between.
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

    if (name === 'PostgreSQL')
      it('prepare() runs no operator of the owner with the rights of the administrator', async () => {
        const { engine, targets } = world
        const mode = { isReadOnly: false, timeoutMilliseconds: 10_000 }
        const owner = await server.driver.open(targets.owner, mode)
        for (const text of TRAP) await owner.query(text)
        owner.close()
        await engine.prepare(server.target, { database: 'app', logins: { ...targets } })
        const admin = await server.driver.open(server.target, mode)
        const { rows } = await admin.query("SELECT rolsuper FROM pg_roles WHERE rolname = 'app'")
        admin.close()
        expect(rows).to.deep.equal([[false]])
        const again = await server.driver.open(targets.owner, mode)
        await again.query('ALTER DATABASE app RESET search_path')
        await again.query('DROP SCHEMA trap CASCADE')
        again.close()
      })

    sqlContract(name, () => world)
    engineSuite(() => ({ ...world, server }))
  })
}
