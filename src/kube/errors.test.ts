import { expect } from 'chai'
import { configMap } from './builtin.ts'
import { absent, errorFromAnswer, errorFromTransport, ignoreKubeAlreadyExists, type KubeErrorReason } from './errors.ts'

const attempt = { verb: 'create', resource: configMap, ref: { namespace: 'a', name: 'x' } }
const status = (more: object) => JSON.stringify({ kind: 'Status', status: 'Failure', ...more })

/** Messages of an API server in the first half minute after its start. */
const NOT_READY = 'configmaps "x" is forbidden: not yet ready to handle request'
const NOT_CONFIGURED = `configmaps "x" is forbidden: ValidatingAdmissionPolicy 'freehold-places' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'freehold.dev/v1alpha1, Kind=PlatformCluster'`

describe('errorFromAnswer and errorFromTransport', () => {
  const cases: [string, number, string, KubeErrorReason][] = [
    ['a taken name', 409, status({ reason: 'AlreadyExists' }), 'AlreadyExists'],
    ['a stale resourceVersion', 409, status({ reason: 'Conflict' }), 'Conflict'],
    ['a missing object', 404, status({ reason: 'NotFound', details: { name: 'x' } }), 'NotFound'],
    ['a type that is not served', 404, status({ details: {} }), 'NotServed'],
    ['an unknown path', 404, '404 page not found', 'NotServed'],
    ['a field out of range', 422, status({ reason: 'Invalid' }), 'Invalid'],
    ['an unknown field', 400, status({ reason: 'BadRequest' }), 'Invalid'],
    ['a missing right', 403, status({ reason: 'Forbidden' }), 'Forbidden'],
    ['an expired token', 401, status({ reason: 'Unauthorized' }), 'Unauthorized'],
    ['too many requests', 429, 'slow down', 'Throttled'],
    ['an expired resourceVersion', 410, status({ reason: 'Expired' }), 'Gone'],
    ['a webhook that is down', 500, status({ reason: 'InternalError' }), 'Unavailable'],
    ['a server that shuts down', 503, '<html>', 'Unavailable'],
    ['a page of a load balancer instead of a refusal', 403, '<html>', 'Unavailable'],
    ['a page of a load balancer instead of a conflict', 409, '<html>', 'Unavailable'],
    ['a redirect of a load balancer', 302, '', 'Unavailable'],
    ['a server that has not loaded its policies', 403, status({ message: NOT_READY }), 'Unavailable'],
    [
      'a server that has not loaded the parameters of a policy',
      422,
      status({ message: NOT_CONFIGURED }),
      'Unavailable',
    ],
    [
      'a policy with a similar message',
      422,
      status({ message: NOT_CONFIGURED.replace('failed', 'It failed') }),
      'Invalid',
    ],
    ['an unknown status', 418, status({}), 'Unexpected'],
  ]
  for (const [what, code, body, reason] of cases) {
    it(`classify ${what} (${code}) as ${reason}`, () => {
      const error = errorFromAnswer(attempt, code, body)
      expect(error.reason).to.equal(reason)
      expect(error.message).to.contain('create configmaps "a/x"').and.to.contain(`HTTP ${code}`)
    })
  }

  it("put the fields of causes, but not the server's message, into the message", () => {
    const cause = { reason: 'FieldValueInvalid', field: 'spec.replicas', message: 'Invalid value: 100: too many' }
    const body = status({ message: 'postgres://user:hunter2@db', details: { name: 'x', causes: [cause] } })
    const error = errorFromAnswer(attempt, 422, body)
    expect(error.message).not.to.contain('hunter2')
    expect(error.message).to.contain('refused the object at spec.replicas (HTTP 422)')
    expect(error.causes).to.deep.equal([{ field: 'spec.replicas', message: 'Invalid value: 100: too many' }])
  })

  it('distinguish a full etcd from a server that is away', () => {
    const message = 'etcdserver: mvcc: database space exceeded'
    const error = errorFromAnswer(attempt, 500, status({ message }))
    expect(error.reason).to.equal('Unavailable')
    expect(error.message).to.contain('the store of the API server is full (HTTP 500)')
  })

  it('name no field path that contains a chosen key', () => {
    for (const field of ['spec.tags[hunter2]', 'spec.tags.hunter-2', 'hunter2', ''])
      expect(
        errorFromAnswer(attempt, 422, status({ details: { causes: [{ field, message: 'no' }] } })).message,
      ).to.contain('refused the object (HTTP 422)')
  })

  it('return each unknown field of a strict decoding error', () => {
    const message =
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "spec.a", unknown field "b"'
    expect(errorFromAnswer(attempt, 400, status({ message })).causes).to.deep.equal([
      { field: 'spec.a', message: 'unknown field' },
      { field: 'b', message: 'unknown field' },
    ])
  })

  it('return the exceeded ResourceQuota and its first exceeded resource', () => {
    const message =
      'configmaps "x" is forbidden: exceeded quota: objects, requested: count/configmaps=1,pods=2, used: count/configmaps=5,pods=0, limited: count/configmaps=5,pods=1'
    expect(errorFromAnswer(attempt, 403, status({ reason: 'Forbidden', message })).quota).to.deep.equal({
      ...{ name: 'objects', resource: 'count/configmaps', requested: '1', used: '5', limit: '5' },
    })
    expect(errorFromAnswer(attempt, 403, status({ reason: 'Forbidden' })).quota).to.equal(undefined)
  })

  it('classify the 500 of an apply with an undeclared field as Invalid', () => {
    const message =
      'failed to create typed patch object (a/x; /v1, Kind=ConfigMap): .spec.size: field not declared in schema'
    const error = errorFromAnswer(attempt, 500, status({ message }))
    expect(error.reason).to.equal('Invalid')
    expect(error.causes).to.deep.equal([{ field: 'spec.size', message: 'unknown field' }])
  })

  it('read only the beginning of a message, and fields of at most 1,000 characters', () => {
    const undeclared = '.spec.size: field not declared in schema'
    const causesIn = (message: string) => errorFromAnswer(attempt, 500, status({ message })).causes
    expect(causesIn(`${'x'.repeat(100_000)} ${undeclared}`)).to.deep.equal([])
    // A malicious cluster may send this: every dot could begin a field.
    expect(causesIn(`${'.'.repeat(20_000)}${undeclared}`).every(({ field }) => field.length <= 1_000)).to.equal(true)
  })

  it('return the admission policy that denied, with its message', () => {
    const message = `configmaps "x" is forbidden: ValidatingAdmissionPolicy 'freehold-places' with binding 'freehold-places' denied request: A group kind lives in the namespace of a group.`
    const error = errorFromAnswer(attempt, 422, status({ message, details: { causes: [{ message }] } }))
    expect(error.denial).to.deep.equal({
      policy: 'freehold-places',
      message: 'A group kind lives in the namespace of a group.',
    })
    expect(error.causes).to.deep.equal([])
  })

  const answered = (code: number, body: object) => errorFromAnswer(attempt, code, status(body))
  const thrownBy = (take: (error: unknown) => undefined, error: unknown) => {
    try {
      return take(error)
    } catch (thrown) {
      return thrown
    }
  }

  it('absent returns undefined for a missing object, but throws if its type is not served', () => {
    const [missing, unserved] = [answered(404, { reason: 'NotFound', details: { name: 'x' } }), answered(404, {})]
    const forbidden = answered(403, { reason: 'Forbidden' })
    expect([missing, unserved, forbidden].map((error) => thrownBy(absent, error))).to.deep.equal([
      ...[undefined, unserved, forbidden],
    ])
  })

  it('ignoreKubeAlreadyExists returns undefined for AlreadyExists and throws other conflicts', () => {
    const [alreadyExists, stale] = [answered(409, { reason: 'AlreadyExists' }), answered(409, { reason: 'Conflict' })]
    expect([alreadyExists, stale].map((error) => thrownBy(ignoreKubeAlreadyExists, error))).to.deep.equal([
      undefined,
      stale,
    ])
  })

  it('read retryAfterSeconds from the header, else from the details', () => {
    expect(errorFromAnswer(attempt, 429, '', '7').retryAfterSeconds).to.equal(7)
    const details = { retryAfterSeconds: 3 }
    expect(errorFromAnswer(attempt, 429, status({ details })).retryAfterSeconds).to.equal(3)
    expect(errorFromAnswer(attempt, 429, '', 'Sat, 21 Nov 2026 10:00:00 GMT').retryAfterSeconds).to.equal(undefined)
  })

  it('name the code of a lost connection, not its message', () => {
    const lost = Object.assign(new Error('connect to 10.0.0.1 with password'), { code: 'ECONNREFUSED' })
    const error = errorFromTransport(attempt, new Error('fetch failed', { cause: lost }), false)
    expect(error.message).to.contain('ECONNREFUSED').and.not.to.contain('password')
    expect(error).to.include({ reason: 'Unavailable', status: 0 })
  })

  it('limit the number and length of causes, and omit those that are not text', () => {
    const answered = (body: object) => errorFromAnswer(attempt, 422, JSON.stringify({ kind: 'Status', ...body }))
    const long = 'x'.repeat(100_000)
    const causes = Array.from({ length: 1_000 }, () => ({ field: long, message: long }))
    const denied = `admission webhook "${long}" denied the request: ${long}`
    for (const error of [
      answered({ details: { causes } }),
      answered({ message: denied.replace(long, 'w') }),
      answered({ details: { causes: [{ field: {}, message: 7 }, null] } }),
      answered({ details: { causes: 'many' } }),
    ]) {
      expect(JSON.stringify([error.causes, error.denial, error.message]).length).to.be.below(150_000)
      for (const { field, message } of error.causes)
        expect([typeof field, typeof message]).to.deep.equal(['string', 'string'])
      expect(error.denial?.message.length ?? 0).to.be.at.most(2_000)
    }
  })
})
