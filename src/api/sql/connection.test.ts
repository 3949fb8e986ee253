import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { encodePasswords, sqlNames } from '../../contracts/sql.ts'
import { groupNamespace } from '../../core/names.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { secret } from '../../kube/builtin.ts'

const HOME = groupNamespace(B, 'shop')
const PASSWORD = 'a}b;c/d'
const FORMS = ['connectionString', 'jdbcUrl', 'adoNetString'] as const

describe('GET /sqlclusters/{name}/connectionstring', () => {
  for (const engine of ['MsSql', 'MariaDb'] as const) {
    it(`returns user and password in each form: ${engine}`, async () => {
      const server = await startShop()
      try {
        server.put(SqlInstance, 'books', { engine, acceptEula: true }, HOME)
        const passwords = { admin: 'x', owner: PASSWORD, writer: 'y', reader: 'z' }
        server.client.seed(secret, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { namespace: HOME, name: sqlNames('books').logins },
          data: encodePasswords(passwords),
        } as never)
        const path = `/boundaries/${B}/resourcegroups/shop/resources/sqlclusters/books/connectionstring`
        const { status, body } = await server.ask('get', path)
        expect(status, JSON.stringify(body)).to.equal(200)
        const spelled = [PASSWORD, encodeURIComponent(PASSWORD), PASSWORD.replaceAll('}', '}}')]
        for (const form of FORMS) {
          expect(body[form], form).to.include('app')
          expect(
            spelled.some((text) => body[form].includes(text)),
            form,
          ).to.equal(true)
        }
      } finally {
        await server.stop()
      }
    })
  }
})
