import { expect } from 'chai'
import type { SqlDriver, SqlSession } from './driver.ts'
import { mariadbDriver } from './mariadb.ts'
import { mssqlDriver } from './mssql.ts'
import { postgresqlDriver } from './postgresql.ts'

const LOGINS = {
  reader: { user: 'app_reader', password: 'one' },
  writer: { user: 'app_writer', password: 'two' },
  owner: { user: 'app', password: 'three' },
}

/** Statements that a driver sends as administrator, inside and outside of the tenant's database. */
async function sent(driver: SqlDriver): Promise<{ outside: string[]; inside: string[] }> {
  const texts = { outside: [] as string[], inside: [] as string[] }
  const session = (where: keyof typeof texts) =>
    ({
      query: async (text: string) => {
        texts[where].push(text)
        return { columns: [], rows: [], affected: null, truncated: false }
      },
    }) as unknown as SqlSession
  await driver.prepare(session('outside'), { database: "sh'op", logins: LOGINS }, async () => session('inside'))
  return texts
}

describe('SqlDriver.prepare', () => {
  it("acts in SQL Server as the owner of the tenant's database at most", async () => {
    const { outside, inside } = await sent(mssqlDriver)
    expect(inside).to.have.length(3)
    for (const text of inside) expect(text).to.match(/^EXECUTE AS USER = N'dbo'; .*; REVERT$/)
    expect(outside.filter((text) => /USER|ROLE|TRIGGER/.test(text.replaceAll('SUSER_ID', '')))).to.deep.equal([])
  })

  it('changes only what differs in SQL Server, so that no trigger runs', async () => {
    const { inside } = await sent(mssqlDriver)
    const changes = inside.flatMap((text) => text.split('; ').slice(1, -1))
    expect(changes).to.deep.equal([
      "IF USER_ID(N'app_reader') IS NULL CREATE USER [app_reader] FOR LOGIN [app_reader]",
      "IF IS_ROLEMEMBER(N'db_datareader', N'app_reader') = 0 ALTER ROLE db_datareader ADD MEMBER [app_reader]",
      "IF USER_ID(N'app_writer') IS NULL CREATE USER [app_writer] FOR LOGIN [app_writer]",
      "IF IS_ROLEMEMBER(N'db_datareader', N'app_writer') = 0 ALTER ROLE db_datareader ADD MEMBER [app_writer]",
      "IF IS_ROLEMEMBER(N'db_datawriter', N'app_writer') = 0 ALTER ROLE db_datawriter ADD MEMBER [app_writer]",
      "IF USER_ID(N'app') IS NULL CREATE USER [app] FOR LOGIN [app]",
      "IF IS_ROLEMEMBER(N'db_owner', N'app') = 0 ALTER ROLE db_owner ADD MEMBER [app]",
    ])
  })

  it('restricts the search path of PostgreSQL to pg_catalog before it sets the role', async () => {
    const { inside } = await sent(postgresqlDriver)
    expect(inside[0]).to.equal('SET search_path TO pg_catalog, pg_temp')
    expect(inside.filter((text) => text.startsWith('SET ROLE'))).to.have.length(1)
  })

  it("sends MariaDB nothing inside the tenant's database", async () => {
    expect((await sent(mariadbDriver)).inside).to.deep.equal([])
  })
})
