import { expect } from 'chai'
import { z } from 'zod'
import { request } from '../../../test/make/request.ts'
import { startFacade } from '../../../test/worlds/facadeServer.ts'
import { type ErrorCode, PlatformError, permissionMissing } from '../../core/errors.ts'
import { checkCondition, checkFurtherPermission, checkRefusal, checkReply } from './checkReply.ts'
import type { ErrorForm } from './problem.ts'
import { type Authorization, action, anonymous, area, authenticated, dataAction, type Route, route } from './route.ts'

const reply = z.object({ name: z.string(), parts: z.array(z.object({ size: z.int() })) })
const WHOLE = { name: 'shop', parts: [{ size: 1 }] }

type Declared = { auth?: Authorization; errors?: ErrorForm; further?: string; handler?: Route['handler'] }

/** A GET route of the vector module. */
function declared({ handler = () => ({ status: 200 }), ...given }: Declared = {}): Route {
  const declaration = { auth: anonymous, errors: 'platform' as const, ...given, summary: 'Read', reply }
  const draft = route('GET', '/things/{name}', { ...declaration, handler: handler as never })
  const { additions: routes } = area('vector', 'db-vector', [[draft]])
  const [only] = routes
  if (only === undefined) throw new Error('The area has no route.')
  return only
}

describe('checkReply', () => {
  const cases: [sentence: string, answer: { status: number; body?: object; parts?: string[] }, error: RegExp][] = [
    ['a status that the route does not declare', { status: 201, body: WHOLE }, /answered 201, which it does not/],
    ['a field that the record does not declare', { status: 200, body: { ...WHOLE, size: 1 } }, /answers size, which/],
    [
      'a field that a nested record does not declare',
      { status: 200, body: { ...WHOLE, parts: [{ size: 1, of: 2 }] } },
      /parts\.0\.of/,
    ],
    ['a value of another type', { status: 200, body: { ...WHOLE, name: 1 } }, /name/],
    ['a missing field', { status: 200, body: {} }, /name/],
    ['a value of another type in parts', { status: 200, parts: ['{"name":', '1}'] }, /name/],
  ]
  for (const [sentence, answer, error] of cases) {
    it(`rejects ${sentence}`, () => expect(() => checkReply(declared(), answer)).to.throw(TypeError, error))
  }

  it('accepts an answer that the route declares', () => {
    checkReply(declared(), { status: 200, body: WHOLE })
    checkReply(declared(), { status: 200, parts: [JSON.stringify(WHOLE)] })
    checkReply(declared(), { status: 200 })
  })
})

describe('checkCondition', () => {
  const post = (isHeld: boolean) => ({ ...declared(), method: 'POST' as const, isHeld })
  it('requires a route that compares versions to declare If-Match', () => {
    expect(() => checkCondition(post(false), { hasComparedVersions: true })).to.throw(TypeError, /does not name/)
    checkCondition(post(false), { hasComparedVersions: false })
    checkCondition(post(true), { hasComparedVersions: true })
  })
})

describe('checkRefusal', () => {
  const refused =
    (code: ErrorCode, given: Declared = {}) =>
    () =>
      checkRefusal(declared(given), new PlatformError(code, 'Refused.'))

  it('accepts codes whose status the route documents', () => {
    for (const code of ['BAD_REQUEST', 'NOT_FOUND', 'TOO_MANY_REQUESTS', 'INTERNAL_ERROR'] as const) refused(code)()
    for (const code of ['UNAUTHORIZED', 'FORBIDDEN'] as const) refused(code, { auth: authenticated })()
  })

  for (const code of ['CONFLICT', 'QUOTA_EXCEEDED', 'UPSTREAM_FAILED', 'NOT_IMPLEMENTED', 'UNAUTHORIZED'] as const) {
    it(`rejects ${code}, which the route does not document`, () => {
      expect(refused(code)).to.throw(
        TypeError,
        new RegExp(`refuses with \\d+ ${code}, which its document does not name`),
      )
    })
  }

  it('rejects a problem where the route documents the platform form only', () => {
    // The document has this status in the platform form only, for refusals before the route is called.
    refused('forbidden', { auth: authenticated })()
    expect(refused('forbidden', { auth: authenticated, errors: 'problem' })).to.throw(TypeError, /403 forbidden/)
    refused('BAD_REQUEST', { errors: 'problem' })()
  })

  it('rejects a further permission that the route does not document (checkFurtherPermission)', () => {
    const missing = permissionMissing('secretvault/readSecrets', '/')
    const check = (given: Declared) => () => checkFurtherPermission(declared(given), missing)
    expect(check({ auth: action('apps/write') })).to.throw(TypeError, /says nothing of further permissions/)
    check({ auth: action('apps/write'), further: 'more' })()
    check({ auth: dataAction('secretvault/readSecrets') })()
    check({ auth: authenticated })()
  })

  it('turns an undocumented refusal into a 500', async () => {
    const handler = () => {
      throw new PlatformError('CONFLICT', 'Refused.')
    }
    const server = await startFacade({ routes: [declared({ handler })] })
    try {
      const answer = await request(server.app).get('/things/shop')
      expect([answer.status, answer.body.code]).to.deep.equal([500, 'INTERNAL_ERROR'])
    } finally {
      await server.stop()
    }
  })
})
