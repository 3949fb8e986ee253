import { expect } from 'chai'
import { sqlConnectionForms } from './sql.ts'

describe('sqlConnectionForms', () => {
  for (const engine of ['MsSql', 'MariaDb'] as const)
    it(`escapes a password for ADO.NET: ${engine}`, () => {
      const parts = { host: 'h', user: 'app', password: 'p;"x' }
      expect(sqlConnectionForms({ engine, databaseName: 'app' }, parts).adoNetString).to.contain('Password="p;""x"')
    })

  it('names host, port, database and user as each driver expects', () => {
    const parts = { host: 'h', user: 'app', password: 'p' }
    const formOf = (engine: 'MsSql' | 'MariaDb') =>
      sqlConnectionForms({ engine, databaseName: 'd' }, parts).adoNetString
    expect(formOf('MsSql')).to.equal(
      'Server=h,1433;Database=d;User Id=app;Password=p;Encrypt=True;TrustServerCertificate=True',
    )
    expect(formOf('MariaDb')).to.equal('Server=h;Port=3306;Database=d;User ID=app;Password=p')
  })
})
