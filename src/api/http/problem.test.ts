import { expect } from 'chai'
import {
  OBJECT_COUNT_POLICY,
  OBJECT_SIZE_POLICY,
  objectCountMessage,
  objectSizeMessage,
} from '../../contracts/objectLimits.ts'
import { type ErrorCode, PlatformError } from '../../core/errors.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { errorFromAnswer, errorFromTransport, KubeError } from '../../kube/errors.ts'
import { SERVED_ROUTES } from '../index.ts'
import { errorAnswer, toPlatformError } from './problem.ts'

const attempt = { verb: 'create', resource: VectorCluster.resource, ref: { namespace: 'shop-1', name: 'orders' } }
const status = (code: number, reason: string, more: object = {}, message = 'words of the server') =>
  errorFromAnswer(attempt, code, JSON.stringify({ kind: 'Status', reason, message, ...more }))
const place = { module: 'db-vector', form: 'platform' as const, correlationId: 'c', traceId: 't' }

describe('errorAnswer and toPlatformError', () => {
  const named = { details: { name: 'orders' } }
  const cases: [string, unknown, number, string][] = [
    ['a taken name', status(409, 'AlreadyExists', named), 409, 'ALREADY_EXISTS'],
    ['a conflict', status(409, 'Conflict', named), 409, 'CONFLICT'],
    ['a missing object', status(404, 'NotFound', named), 404, 'NOT_FOUND'],
    ['a missing type', status(404, 'NotFound'), 503, 'SERVICE_UNAVAILABLE'],
    [
      'an invalid object',
      status(422, 'Invalid', { details: { ...named, causes: [{ field: 'spec.replicas', message: 'too many' }] } }),
      400,
      'BAD_REQUEST',
    ],
    [
      'a rejection by another cluster',
      errorFromAnswer(
        { ...attempt, cluster: 'c-1' },
        422,
        JSON.stringify({ kind: 'Status', details: { causes: [{ field: 'spec', message: 'words of the server' }] } }),
      ),
      502,
      'UPSTREAM_FAILED',
    ],
    ['an API server that answers 429', status(429, 'TooManyRequests'), 503, 'SERVICE_UNAVAILABLE'],
    ['an API server that answers 500', status(500, 'InternalError'), 503, 'SERVICE_UNAVAILABLE'],
    [
      'a refused connection',
      errorFromTransport(attempt, new Error('connect ECONNREFUSED 10.0.0.1'), false),
      503,
      'SERVICE_UNAVAILABLE',
    ],
    ['a 403 of the API server', status(403, 'Forbidden', named), 503, 'SERVICE_UNAVAILABLE'],
    [
      'an exceeded ResourceQuota',
      status(
        403,
        'Forbidden',
        named,
        'words of the server: exceeded quota: objects, requested: count/a.b=1, used: count/a.b=5, limited: count/a.b=5',
      ),
      422,
      'QUOTA_EXCEEDED',
    ],
    [
      'an invalid answer of another cluster',
      new KubeError('Unexpected', 'words of the server', { status: 200, cluster: 'c-1' }),
      502,
      'UPSTREAM_FAILED',
    ],
    [
      'an invalid answer of the API server',
      new KubeError('Unexpected', 'words of the server', { status: 200 }),
      503,
      'SERVICE_UNAVAILABLE',
    ],
    ['a 401 of the API server', status(401, 'Unauthorized'), 503, 'SERVICE_UNAVAILABLE'],
    ['a TypeError of the facade', new TypeError('x is not a function'), 500, 'INTERNAL_ERROR'],
    ['a thrown value that is not an Error', 'text', 500, 'INTERNAL_ERROR'],
    ['a PlatformError', new PlatformError('PLAN_NOT_FOUND', 'There is no plan.'), 422, 'PLAN_NOT_FOUND'],
  ]
  it('names the other cluster that cannot be reached', () => {
    const unreached = errorFromTransport({ ...attempt, cluster: 'c-1' }, new Error('connect ECONNREFUSED'), false)
    expect(errorAnswer(toPlatformError(unreached), place).body).to.include({
      error: 'The API server of cluster "c-1" is not available at the moment; try again.',
    })
  })

  for (const [sentence, thrown, wantedStatus, code] of cases) {
    it(`maps ${sentence} to ${wantedStatus} ${code} without internal text`, () => {
      const answer = errorAnswer(toPlatformError(thrown), place)
      expect([answer.status, (answer.body as { code: string }).code]).to.deep.equal([wantedStatus, code])
      expect(JSON.stringify(answer.body)).to.not.match(/words of the server|ECONNREFUSED|function|10\.0\.0\.1/)
    })
  }

  it('names the fields as in the record', () => {
    const refused = status(422, 'Invalid', {
      details: { name: 'orders', causes: [{ field: 'spec.replicas', message: 'too many' }] },
    })
    expect(toPlatformError(refused).extras).to.deep.equal({ errors: [{ field: 'replicas', message: 'too many' }] })
  })

  it('words a CEL rule of the API server as the facade does', () => {
    const causes = [
      { field: 'spec.minReplicas', message: 'Invalid value: "integer": minReplicas must not be more than maxReplicas' },
    ]
    const { body } = errorAnswer(
      toPlatformError(status(422, 'Invalid', { details: { name: 'orders', causes } })),
      place,
    )
    expect(body).to.include({ error: 'The field "minReplicas" must not be more than maxReplicas.' })
    expect((body as { errors: object }).errors).to.deep.equal([
      { field: 'minReplicas', message: 'must not be more than maxReplicas' },
    ])
  })

  it('names the ValidatingAdmissionPolicy that denied the request', () => {
    const message = `vectorclusters.data.freehold.dev "orders" is forbidden: ValidatingAdmissionPolicy 'placement' with binding 'placement' denied request: only in a group`
    const refused = toPlatformError(
      status(
        422,
        'Invalid',
        { details: { name: 'orders', causes: [{ message: message.slice(message.indexOf('Validating')) }] } },
        message,
      ),
    )
    expect([refused.code, refused.status]).to.deep.equal(['RULE_VIOLATION', 422])
    expect(refused.extras).to.include({ policy: 'placement' })
  })

  const denied = (policy: string, message: string) =>
    toPlatformError(
      status(
        403,
        'Forbidden',
        {},
        `forbidden: ValidatingAdmissionPolicy '${policy}' with binding 'x' denied request: ${message}`,
      ),
    )

  it('gives limit and used of a boundary whose object count is exhausted', () => {
    const message = `this boundary ${objectCountMessage('5003', '5000').join('')} in its resource groups`
    const refused = denied(OBJECT_COUNT_POLICY, message)
    expect([refused.code, refused.status, refused.message]).to.deep.equal(['QUOTA_EXCEEDED', 422, message])
    expect(refused.extras).to.deep.equal({ quota: 'objects', limit: 5000, used: 5003, requested: 1 })
  })

  it('gives limitBytes of an object that is too large', () => {
    const refused = denied(OBJECT_SIZE_POLICY, `it ${objectSizeMessage('140000', '131072').join('')}`)
    expect([refused.code, refused.status, refused.extras]).to.deep.equal([
      'BODY_TOO_LARGE',
      400,
      { limitBytes: 131_072 },
    ])
  })

  it('renders the platform form', () => {
    const { body, headers } = errorAnswer(new PlatformError('CONFLICT', 'Stale.', { currentVersion: '3' }), place)
    expect(body).to.deep.equal({
      error: 'Stale.',
      code: 'CONFLICT',
      module: 'db-vector',
      correlationId: 'c',
      traceId: 't',
      currentVersion: '3',
    })
    expect(headers['content-type']).to.match(/^application\/json/)
  })

  it('renders "problem of 500" as application/problem+json for a 500 only', () => {
    const problem = { ...place, form: 'problem of 500' as const }
    const failed = errorAnswer(new PlatformError('INTERNAL_ERROR', 'Failed.'), problem)
    expect(failed.headers['content-type']).to.equal('application/problem+json')
    expect(failed.body).to.include({ title: 'INTERNAL_ERROR', status: 500, detail: 'Failed.', code: 'INTERNAL_ERROR' })
    expect(failed.body).to.not.have.property('error')
    expect(errorAnswer(new PlatformError('NOT_FOUND', 'No.'), problem).body).to.have.property('error')
  })

  const forms: [ErrorCode, string, string][] = [
    ['BAD_REQUEST', 'problem', 'bad-request'],
    ['NOT_FOUND', 'problem', 'not-found'],
    ['CONFLICT', 'problem', 'conflict'],
    ['ENGINE_MISSING', 'problem', 'engine-missing'],
    ['INTERNAL_ERROR', 'problem', 'internal-error'],
    ['source-unknown', 'problem', 'source-unknown'],
    ['UNAUTHORIZED', 'json', 'UNAUTHORIZED'],
    ['FORBIDDEN', 'json', 'FORBIDDEN'],
    ['MODEL_BINDING_FAILED', 'json', 'MODEL_BINDING_FAILED'],
    ['TOO_MANY_REQUESTS', 'json', 'TOO_MANY_REQUESTS'],
  ]
  for (const [code, form, wanted] of forms) {
    it(`renders ${code} in the problem form as ${form} with the code ${wanted}`, () => {
      const { headers, body } = errorAnswer(new PlatformError(code, 'No.'), { ...place, form: 'problem' })
      expect(headers['content-type']).to.include(form)
      expect(body).to.include({ code: wanted })
      expect(body).to.have.property(form === 'problem' ? 'detail' : 'error', 'No.')
    })
  }

  const snakes: [ErrorCode, string][] = [
    ['CONFLICT', 'conflict'],
    ['UPSTREAM_FAILED', 'upstream_failed'],
    ['last_owner', 'last_owner'],
    // Platform-wide codes (interface section 7); `not_found` and `forbidden` mean something else.
    ['NOT_FOUND', 'NOT_FOUND'],
    ['BAD_REQUEST', 'BAD_REQUEST'],
    ['FORBIDDEN', 'FORBIDDEN'],
    ['MODEL_BINDING_FAILED', 'MODEL_BINDING_FAILED'],
    ['REQUEST_FAILED', 'REQUEST_FAILED'],
  ]
  for (const [code, wanted] of snakes) {
    it(`renders ${code} in the snake form as ${wanted}`, () => {
      const { headers, body } = errorAnswer(new PlatformError(code, 'No.'), { ...place, form: 'snake' })
      expect(headers['content-type']).to.equal('application/json; charset=utf-8')
      expect(body).to.include({ code: wanted, error: 'No.' })
    })
  }

  it('uses the snake form on every route of rbac', () => {
    const rbac = SERVED_ROUTES.filter(({ module }) => module === 'rbac')
    expect(rbac.length).to.be.above(50)
    expect(rbac.filter(({ errors }) => errors !== 'snake').map(({ path }) => path)).to.deep.equal([])
  })

  it('uses the problem form on every kernel route', () => {
    const kernel = SERVED_ROUTES.filter(({ module }) => module === 'kernel')
    expect(kernel).to.have.length.above(20)
    expect(kernel.filter(({ errors }) => errors !== 'problem').map(({ path }) => path)).to.deep.equal([])
  })

  it('ignores extras named code, error or module', () => {
    const { body } = errorAnswer(new PlatformError('CONFLICT', 'x', { code: 'OTHER', error: 'y', module: 'z' }), place)
    expect(body).to.include({ code: 'CONFLICT', error: 'x', module: 'db-vector' })
  })

  it('turns retryAfterSeconds into the Retry-After header', () => {
    const { headers, body } = errorAnswer(
      new PlatformError('TOO_MANY_REQUESTS', 'Slow.', { retryAfterSeconds: 7 }),
      place,
    )
    expect(headers['retry-after']).to.equal('7')
    expect(body).to.not.have.property('retryAfterSeconds')
  })
})
