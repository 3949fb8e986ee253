import { expect } from 'chai'
import type { SqlDriver } from './driver.ts'
import { mariadbDriver } from './mariadb.ts'
import { mssqlDriver } from './mssql.ts'
import type { SqlFaultReason } from './port.ts'
import { postgresqlDriver } from './postgresql.ts'

/** What each engine says in its own numbers, and what it means to the platform. */
const cases: [sentence: string, driver: SqlDriver, thrown: object, due: SqlFaultReason][] = [
  ['PostgreSQL knows no such database', postgresqlDriver, { code: '3D000' }, 'DatabaseNotFound'],
  ['PostgreSQL does not take the password', postgresqlDriver, { code: '28P01' }, 'Unauthorized'],
  ['PostgreSQL does not allow a statement', postgresqlDriver, { code: '42501' }, 'Failed'],
  ['PostgreSQL is starting', postgresqlDriver, { code: '57P03' }, 'Unreachable'],
  ['nobody listens where PostgreSQL should', postgresqlDriver, { code: 'ECONNREFUSED' }, 'Unreachable'],
  ['MariaDB knows no such database', mariadbDriver, { errno: 1049 }, 'DatabaseNotFound'],
  ['MariaDB does not let a login into a database', mariadbDriver, { errno: 1044 }, 'DatabaseNotFound'],
  ['MariaDB takes a text for no name of a database', mariadbDriver, { errno: 1102 }, 'DatabaseNotFound'],
  ['MariaDB does not take the password', mariadbDriver, { errno: 1045 }, 'Unauthorized'],
  ['MariaDB does not allow a statement', mariadbDriver, { errno: 1142 }, 'Failed'],
  ['the connection to MariaDB is lost', mariadbDriver, { errno: 45_009 }, 'Unreachable'],
  ['SQL Server cannot open a database', mssqlDriver, { number: 4060, code: 'ELOGIN' }, 'DatabaseNotFound'],
  ['SQL Server does not let a login into a database', mssqlDriver, { number: 916 }, 'DatabaseNotFound'],
  ['SQL Server knows no such database', mssqlDriver, { number: 911 }, 'DatabaseNotFound'],
  ['SQL Server does not take the password', mssqlDriver, { number: 18456, code: 'ELOGIN' }, 'Unauthorized'],
  ['SQL Server takes a login for another reason not', mssqlDriver, { number: 18470, code: 'ELOGIN' }, 'Unauthorized'],
  ['SQL Server does not allow a statement', mssqlDriver, { number: 229, code: 'EREQUEST' }, 'Failed'],
  [
    'SQL Server says several things of one statement',
    mssqlDriver,
    new AggregateError([{ number: 2627, code: 'EREQUEST' }, { number: 3621 }]),
    'DuplicateKey',
  ],
  ['nobody listens where SQL Server should', mssqlDriver, { code: 'ESOCKET' }, 'Unreachable'],
]

describe('what a driver says of its engine', () => {
  for (const [sentence, driver, thrown, due] of cases)
    it(`is ${due} when ${sentence}`, () => {
      expect(driver.faultOf(thrown).reason).to.equal(due)
    })
})
