import { expect } from 'chai'
import { configMap } from './builtin.ts'
import { absent, errorFromAnswer, errorFromTransport, ignoreKubeAlreadyExists, type KubeErrorReason } from './errors.ts'

const attempt = { verb: 'create', resource: configMap, ref: { namespace: 'a', name: 'x' } }
const status = (more: object) => JSON.stringify({ kind: 'Status', status: 'Failure', ...more })

/** As an API server says it for half a minute after its start. */
const NOT_READY = 'configmaps "x" is forbidden: not yet ready to handle request'
const NOT_CONFIGURED = `configmaps "x" is forbidden: ValidatingAdmissionPolicy 'freehold-places' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'freehold.dev/v1alpha1, Kind=PlatformCluster'`

describe('errors of the API server', () => {
  const cases: [string, number, string, KubeErrorReason][] = [
    ['a name that is taken', 409, status({ reason: 'AlreadyExists' }), 'AlreadyExists'],
    ['a stale version', 409, status({ reason: 'Conflict' }), 'Conflict'],
    ['no object', 404, status({ reason: 'NotFound', details: { name: 'x' } }), 'NotFound'],
    ['a field out of range', 422, status({ reason: 'Invalid' }), 'Invalid'],
    ['an unknown field', 400, status({ reason: 'BadRequest' }), 'Invalid'],
    ['a missing right', 403, status({ reason: 'Forbidden' }), 'Forbidden'],
    ['a token that ran out', 401, status({ reason: 'Unauthorized' }), 'Unauthorized'],
    ['too many requests', 429, 'slow down', 'Throttled'],
    ['an expired version', 410, status({ reason: 'Expired' }), 'Gone'],
    ['a hook that is down', 500, status({ reason: 'InternalError' }), 'Unavailable'],
    ['a server that stops', 503, '<html>', 'Unavailable'],
    ['a server that has not read its policies', 403, status({ message: NOT_READY }), 'Unavailable'],
    ['a server that has not found what a policy needs', 422, status({ message: NOT_CONFIGURED }), 'Unavailable'],
    ['a policy that only says so', 422, status({ message: NOT_CONFIGURED.replace('failed', 'It failed') }), 'Invalid'],
    ['a teapot', 418, '', 'Unexpected'],
  ]
  for (const [what, code, body, reason] of cases) {
    it(`calls ${what} (${code}) ${reason}`, () => {
      const error = errorFromAnswer(attempt, code, body)
      expect(error.reason).to.equal(reason)
      expect(error.message).to.contain('create configmaps "a/x"').and.to.contain(`HTTP ${code}`)
    })
  }

  it('keeps the words of the server out of the message and its fields in the causes', () => {
    const cause = { reason: 'FieldValueInvalid', field: 'spec.replicas', message: 'Invalid value: 100: too many' }
    const body = status({ message: 'postgres://user:hunter2@db', details: { name: 'x', causes: [cause] } })
    const error = errorFromAnswer(attempt, 422, body)
    expect(error.message).not.to.contain('hunter2')
    expect(error.message).to.contain('refused the object at spec.replicas (HTTP 422)')
    expect(error.causes).to.deep.equal([{ field: 'spec.replicas', message: 'Invalid value: 100: too many' }])
  })

  it('tells a store that is full from a server that is away', () => {
    const message = 'etcdserver: mvcc: database space exceeded'
    const error = errorFromAnswer(attempt, 500, status({ message }))
    expect(error.reason).to.equal('Unavailable')
    expect(error.message).to.contain('the store of the API server is full (HTTP 500)')
  })

  it('names no field whose path somebody chose', () => {
    for (const field of ['spec.tags[hunter2]', 'spec.tags.hunter-2', 'hunter2', ''])
      expect(
        errorFromAnswer(attempt, 422, status({ details: { causes: [{ field, message: 'no' }] } })).message,
      ).to.contain('refused the object (HTTP 422)')
  })

  it('finds each unknown field in the sentence of strict validation', () => {
    const message =
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "spec.a", unknown field "b"'
    expect(errorFromAnswer(attempt, 400, status({ message })).causes).to.deep.equal([
      { field: 'spec.a', message: 'unknown field' },
      { field: 'b', message: 'unknown field' },
    ])
  })

  it('tells which ResourceQuota is full, of the first resource that it limits', () => {
    const message =
      'configmaps "x" is forbidden: exceeded quota: objects, requested: count/configmaps=1,pods=2, used: count/configmaps=5,pods=0, limited: count/configmaps=5,pods=1'
    expect(errorFromAnswer(attempt, 403, status({ reason: 'Forbidden', message })).quota).to.deep.equal({
      ...{ name: 'objects', resource: 'count/configmaps', requested: '1', used: '5', limit: '5' },
    })
    expect(errorFromAnswer(attempt, 403, status({ reason: 'Forbidden' })).quota).to.equal(undefined)
  })

  it('takes the 500 of a server-side apply with an unknown field for a refused object', () => {
    const message =
      'failed to create typed patch object (a/x; /v1, Kind=ConfigMap): .spec.size: field not declared in schema'
    const error = errorFromAnswer(attempt, 500, status({ message }))
    expect(error.reason).to.equal('Invalid')
    expect(error.causes).to.deep.equal([{ field: 'spec.size', message: 'unknown field' }])
  })

  it('reads no more than the beginning of a sentence, and no field that is longer than any', () => {
    const undeclared = '.spec.size: field not declared in schema'
    const causesIn = (message: string) => errorFromAnswer(attempt, 500, status({ message })).causes
    expect(causesIn(`${'x'.repeat(100_000)} ${undeclared}`)).to.deep.equal([])
    // As a cluster in the hands of somebody else may write it: every dot could be where a field begins.
    expect(causesIn(`${'.'.repeat(20_000)}${undeclared}`).every(({ field }) => field.length <= 1_000)).to.equal(true)
  })

  it('names the policy that denied, with the words of its author', () => {
    const message = `configmaps "x" is forbidden: ValidatingAdmissionPolicy 'freehold-places' with binding 'freehold-places' denied request: A group kind lives in the namespace of a group.`
    const error = errorFromAnswer(attempt, 422, status({ message, details: { causes: [{ message }] } }))
    expect(error.denial).to.deep.equal({
      policy: 'freehold-places',
      message: 'A group kind lives in the namespace of a group.',
    })
    expect(error.causes).to.deep.equal([])
  })

  it('tells a type that is not served from an object that is not there', () => {
    expect(errorFromAnswer(attempt, 404, '404 page not found').typeMissing).to.equal(true)
    expect(errorFromAnswer(attempt, 404, status({ details: { name: 'x' } })).typeMissing).to.equal(false)
  })

  const answered = (code: number, body: object) => errorFromAnswer(attempt, code, status(body))
  const thrownBy = (take: (error: unknown) => undefined, error: unknown) => {
    try {
      return take(error)
    } catch (thrown) {
      return thrown
    }
  }

  it('are nothing for a reader of what is absent, unless it is the type that is not served', () => {
    const [gone, unserved] = [answered(404, { reason: 'NotFound', details: { name: 'x' } }), answered(404, {})]
    const forbidden = answered(403, { reason: 'Forbidden' })
    expect([gone, unserved, forbidden].map((error) => thrownBy(absent, error))).to.deep.equal([
      ...[undefined, unserved, forbidden],
    ])
  })

  it('are nothing for a writer of what is there already', () => {
    const [taken, stale] = [answered(409, { reason: 'AlreadyExists' }), answered(409, { reason: 'Conflict' })]
    expect([taken, stale].map((error) => thrownBy(ignoreKubeAlreadyExists, error))).to.deep.equal([undefined, stale])
  })

  it('reads how long to wait from the header, else from the details', () => {
    expect(errorFromAnswer(attempt, 429, '', '7').retryAfterSeconds).to.equal(7)
    const details = { retryAfterSeconds: 3 }
    expect(errorFromAnswer(attempt, 429, status({ details })).retryAfterSeconds).to.equal(3)
    expect(errorFromAnswer(attempt, 429, '', 'Sat, 21 Nov 2026 10:00:00 GMT').retryAfterSeconds).to.equal(undefined)
  })

  it('names the code of a lost connection, not its message', () => {
    const lost = Object.assign(new Error('connect to 10.0.0.1 with password'), { code: 'ECONNREFUSED' })
    const error = errorFromTransport(attempt, new Error('fetch failed', { cause: lost }), false)
    expect(error.message).to.contain('ECONNREFUSED').and.not.to.contain('password')
    expect(error).to.include({ reason: 'Unavailable', status: 0 })
  })

  it('has a bounded number of bounded words of a server that says too much, or what is no text', () => {
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
