import { expect } from 'chai'
import { sqlConnectionForms } from './sql.ts'

describe('the connection forms of an SQL instance', () => {
  for (const engine of ['MsSql', 'MariaDb'] as const)
    it(`escape a password for ADO.NET: ${engine}`, () => {
      const parts = { host: 'h', user: 'app', password: 'p;"x' }
      expect(sqlConnectionForms({ engine, databaseName: 'app' }, parts).adoNetString).to.contain('Password="p;""x"')
    })

  it('name host, port, database and user as the drivers expect', () => {
    const parts = { host: 'h', user: 'app', password: 'p' }
    const formOf = (engine: 'MsSql' | 'MariaDb') =>
      sqlConnectionForms({ engine, databaseName: 'd' }, parts).adoNetString
    expect(formOf('MsSql')).to.equal(
      'Server=h,1433;Database=d;User Id=app;Password=p;Encrypt=True;TrustServerCertificate=True',
    )
    expect(formOf('MariaDb')).to.equal('Server=h;Port=3306;Database=d;User ID=app;Password=p')
  })
})
