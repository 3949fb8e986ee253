import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../test/worlds/shop.ts'
import { groupNamespace } from '../core/names.ts'
import { DEFAULT_BLUEPRINTS } from '../crds/defaultBlueprints.ts'
import { FunctionNamespace } from '../crds/functions.ts'
import { ComputePlan } from '../crds/plans.ts'
import { SecretVault } from '../crds/vaults.ts'
import { createsUnnamed } from './http/route.ts'
import { SERVED_ROUTES } from './index.ts'

const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop`
const NAMESPACE = groupNamespace(BOUNDARY, 'shop')
const TEMPLATE = { content: String(DEFAULT_BLUEPRINTS[0]).replace('vector-database', 'own') }
const VERSION = '"1-1-abcdef01"'

/** Creations whose path names no object; those with a name are in the suite of resources and below. */
const UNNAMED = SERVED_ROUTES.filter((route) => createsUnnamed(route))

describe('a conditional creation', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.grant(OWNER, 'Owner', '/')
    server.put(SecretVault, 'keys', {}, NAMESPACE)
    const sizes = { cpuRequest: '100m', cpuLimit: '1', memoryRequest: '128Mi', memoryLimit: '128Mi' }
    server.put(ComputePlan, 'function-small', { family: 'Function', displayName: 'Small', ...sizes, isDefault: true })
    server.put(FunctionNamespace, 'calls', { runtime: 'nodejs' }, NAMESPACE)
  })
  after(() => server.stop())

  it('is tested on more than 20 routes', () => expect(UNNAMED.length).to.be.greaterThan(20))
  for (const { path } of UNNAMED) {
    it(`returns 409 with If-Match at POST ${path}`, async () => {
      const [boundary, group] = [/\{boundaryId\}/g, /\{resourceGroup(Name)?\}/g]
      const fullPath = path
        .replace(boundary, BOUNDARY)
        .replace(group, 'shop')
        .replace(/\{\w+\}/g, randomUUID())
      for (const version of [VERSION, '*']) {
        const { status, body } = await server.ask('post', fullPath).set('if-match', version).send({})
        expect([status, (body.code as string).toUpperCase()], version).to.deep.equal([409, 'CONFLICT'])
      }
    })
  }

  const named: [string, 'post' | 'put', string, object][] = [
    ['a group', 'post', `/boundaries/${BOUNDARY}/resourcegroups/other`, {}],
    ['a function', 'post', `${GROUP}/resources/functionnamespaces/calls/functions/f`, { handler: 'index' }],
    ['a template', 'post', `/boundaries/${BOUNDARY}/resources/blueprints/templates`, TEMPLATE],
    ['a secret', 'put', `${GROUP}/resources/secretvaults/keys/secrets/word`, { value: 'x' }],
  ]
  for (const [what, method, path, body] of named) {
    it(`returns 409 with If-Match, and succeeds without: ${what}`, async () => {
      for (const version of [VERSION, '*']) {
        const refused = await server.ask(method, path).set('if-match', version).send(body)
        expect([refused.status, refused.body.code], version).to.deep.equal([409, 'CONFLICT'])
      }
      expect((await server.ask(method, path).send(body)).status).to.be.oneOf([200, 201])
    })
  }

  const replaced: [string, 'put' | 'patch' | 'post' | 'delete', string, object][] = [
    ['a secret', 'put', `${GROUP}/resources/secretvaults/keys/secrets/word`, { value: 'y' }],
    ['a vault', 'patch', `${GROUP}/resources/secretvaults/keys`, { tags: { a: 'b' } }],
    ['a template', 'post', `/boundaries/${BOUNDARY}/resources/blueprints/templates`, TEMPLATE],
    ['a function', 'delete', `${GROUP}/resources/functionnamespaces/calls/functions/f`, {}],
  ]
  for (const [what, method, path, body] of replaced) {
    it(`returns 400 with If-None-Match: ${what}`, async () => {
      const refused = await server.ask(method, path).set('if-none-match', '*').send(body)
      expect([refused.status, refused.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
      expect(refused.body.error).to.match(/^If-None-Match guards no write here/)
    })
  }
})
