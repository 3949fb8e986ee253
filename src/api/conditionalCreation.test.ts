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

/** Creations whose path names no one object; those that name it are in the suite of resources and below. */
const UNNAMED = SERVED_ROUTES.filter((route) => createsUnnamed(route))

describe('If-Match on what does not exist is false, so that', () => {
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

  it('is asked of many routes', () => expect(UNNAMED.length).to.be.greaterThan(20))
  for (const { path } of UNNAMED) {
    it(`POST ${path} makes nothing`, async () => {
      const [boundary, group] = [/\{boundaryId\}/g, /\{resourceGroup(Name)?\}/g]
      const there = path
        .replace(boundary, BOUNDARY)
        .replace(group, 'shop')
        .replace(/\{\w+\}/g, randomUUID())
      for (const version of [VERSION, '*']) {
        const { status, body } = await server.ask('post', there).set('if-match', version).send({})
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
    it(`${what} is not made, and without the header it is`, async () => {
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
    it(`${what} is not written over by who says that there must be none`, async () => {
      const refused = await server.ask(method, path).set('if-none-match', '*').send(body)
      expect([refused.status, refused.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
      expect(refused.body.error).to.match(/^If-None-Match guards no write here/)
    })
  }
})
