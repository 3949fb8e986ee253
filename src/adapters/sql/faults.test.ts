import { expect } from 'chai'
import type { SqlDriver } from './driver.ts'
import { mariadbDriver } from './mariadb.ts'
import { mssqlDriver } from './mssql.ts'
import type { SqlFaultReason } from './port.ts'
import { postgresqlDriver } from './postgresql.ts'

/** Error codes of each engine and their reasons. */
const cases: [sentence: string, driver: SqlDriver, thrown: object, due: SqlFaultReason][] = [
  ['PostgreSQL does not know the database', postgresqlDriver, { code: '3D000' }, 'DatabaseNotFound'],
  ['PostgreSQL rejects the password', postgresqlDriver, { code: '28P01' }, 'Unauthorized'],
  ['PostgreSQL denies a statement', postgresqlDriver, { code: '42501' }, 'Failed'],
  ['PostgreSQL is starting', postgresqlDriver, { code: '57P03' }, 'Unreachable'],
  ['the port of PostgreSQL is closed', postgresqlDriver, { code: 'ECONNREFUSED' }, 'Unreachable'],
  ['MariaDB does not know the database', mariadbDriver, { errno: 1049 }, 'DatabaseNotFound'],
  ['MariaDB denies a login the database', mariadbDriver, { errno: 1044 }, 'DatabaseNotFound'],
  ['MariaDB rejects the database name', mariadbDriver, { errno: 1102 }, 'DatabaseNotFound'],
  ['MariaDB rejects the password', mariadbDriver, { errno: 1045 }, 'Unauthorized'],
  ['MariaDB denies a statement', mariadbDriver, { errno: 1142 }, 'Failed'],
  ['the connection to MariaDB is lost', mariadbDriver, { errno: 45_009 }, 'Unreachable'],
  ['SQL Server cannot open the database', mssqlDriver, { number: 4060, code: 'ELOGIN' }, 'DatabaseNotFound'],
  ['SQL Server denies a login the database', mssqlDriver, { number: 916 }, 'DatabaseNotFound'],
  ['SQL Server does not know the database', mssqlDriver, { number: 911 }, 'DatabaseNotFound'],
  ['SQL Server rejects the password', mssqlDriver, { number: 18456, code: 'ELOGIN' }, 'Unauthorized'],
  ['SQL Server rejects a login for another reason', mssqlDriver, { number: 18470, code: 'ELOGIN' }, 'Unauthorized'],
  ['SQL Server denies a statement', mssqlDriver, { number: 229, code: 'EREQUEST' }, 'Failed'],
  [
    'SQL Server reports several errors of one statement',
    mssqlDriver,
    new AggregateError([{ number: 2627, code: 'EREQUEST' }, { number: 3621 }]),
    'DuplicateKey',
  ],
  ['the port of SQL Server is closed', mssqlDriver, { code: 'ESOCKET' }, 'Unreachable'],
]

describe('SqlDriver.faultOf', () => {
  for (const [sentence, driver, thrown, due] of cases)
    it(`returns ${due} when ${sentence}`, () => {
      expect(driver.faultOf(thrown).reason).to.equal(due)
    })
})
