import { expect } from 'chai'
import { z } from 'zod'
import { SERVED_ROUTES } from '../index.ts'
import { ok } from './answer.ts'
import type { Route } from './route.ts'
import { mayHoldSecret, withNoStore } from './secretAnswers.ts'

const B = '/boundaries/{boundaryId}'
const RG = `${B}/resourcegroups/{resourceGroupName}/resources`

describe('answers that may contain a secret', () => {
  const routeOf = (method: string, path: string) =>
    SERVED_ROUTES.find((route) => route.method === method && route.path.replaceAll(/\{\w+\}/g, '{}') === path)
  const holding = SERVED_ROUTES.filter(mayHoldSecret).map(({ method, path }) => `${method} ${path}`)

  const secret: [method: string, path: string][] = [
    ['POST', `${B}/sources/{sourceName}/create`],
    ['POST', `${B}/sources/{sourceName}/installations/{installationId}/token/{repositoryId}`],
    ['POST', `${B}/providers/authorization/invitations`],
    ['POST', `${B}/providers/authorization/invitations/{invitationId}/resend`],
    ['GET', `${RG}/relationalclusters/{name}/connectionstring`],
    ['GET', `${RG}/vectorclusters/{name}/apikey`],
    ['POST', `${RG}/objectstorageaccounts/{accountName}/accesskeys`],
    ['POST', '/clusters/{clusterId}/join-token'],
  ]
  for (const [method, path] of secret)
    it(`have Cache-Control: no-store: ${method} ${path}`, () => {
      const route = routeOf(method, path.replaceAll(/\{\w+\}/g, '{}')) as Route
      expect(withNoStore(route, ok({})).headers).to.deep.equal({ 'cache-control': 'no-store' })
    })

  const byLink = SERVED_ROUTES.filter(({ path }) => path.includes('{token}'))
  it('include those of invitation and password links, which show personal data', () => {
    expect(byLink.map(({ method, path }) => `${method} ${path}`)).to.include.members([
      'GET /invitations/{token}',
      'GET /identity/password-reset/{token}',
    ])
    for (const route of byLink) {
      expect(withNoStore(route, ok({})).headers, route.path).to.deep.equal({ 'cache-control': 'no-store' })
    }
  })

  it('are those of 15 to 30 routes, without lists and names of secrets', () => {
    expect(holding).to.have.length.within(15, 30)
    expect(holding.filter((one) => one.startsWith('GET') && /containerinstances|invitations$/.test(one))).to.be.empty
  })

  it('are recognised by the field name of a string at any depth', () => {
    const routeWith = (reply: z.ZodType) => ({ reply, list: undefined }) as unknown as Route
    const secrets = [
      z.object({ items: z.array(z.object({ clientSecret: z.string().nullable().optional() })) }),
      z.union([z.object({}), z.record(z.string(), z.object({ pendingApiKey: z.string() }))]),
      z.object({
        get below() {
          return z.object({ password: z.string().min(1).default('') })
        },
      }),
    ]
    for (const schema of secrets) expect(mayHoldSecret(routeWith(schema))).to.equal(true)
    const bare = z.object({
      ...{ secretName: z.string(), tokenUrl: z.string(), hasSecret: z.boolean(), secret: z.boolean() },
      ...{ newLink: z.string(), isToken: z.string() },
    })
    expect(mayHoldSecret(routeWith(bare))).to.equal(false)
  })

  it('keep the Cache-Control of their handler', () => {
    const route = routeOf('POST', '/boundaries/{}/sources/{}/create') as Route
    const headers = { 'cache-control': 'private' }
    expect(withNoStore(route, ok({}, { headers })).headers).to.deep.equal(headers)
    for (const status of [300, 302]) expect(withNoStore(route, { status }).headers).to.equal(undefined)
  })

  it('keep the other headers of their handler, and no other answer is marked', () => {
    const route = routeOf('POST', '/boundaries/{}/sources/{}/create') as Route
    const answer = ok({ a: 1 }, { headers: { location: '/here' } })
    expect(withNoStore(route, answer)).to.deep.equal({
      ...answer,
      headers: { location: '/here', 'cache-control': 'no-store' },
    })
    expect(withNoStore(routeOf('GET', '/boundaries/{}') as Route, answer)).to.equal(answer)
  })
})
