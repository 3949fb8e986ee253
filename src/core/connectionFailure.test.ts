import { expect } from 'chai'
import { type ConnectionFailure, connectionFailure } from './connectionFailure.ts'

const withCode = (code: string, more: object = {}) => Object.assign(new Error('It failed.'), { code, ...more })

const cases: [title: string, error: unknown, failure: ConnectionFailure | undefined][] = [
  ['a self-signed certificate', withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'Untrusted'],
  ['a certificate of an unknown authority', withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'Untrusted'],
  ['an expired certificate', withCode('CERT_HAS_EXPIRED'), 'Untrusted'],
  ['a certificate for another host', withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'Untrusted'],
  ['plain HTTP instead of TLS', withCode('ERR_SSL_WRONG_VERSION_NUMBER'), 'NoTls'],
  ['a response that is not HTTP', withCode('HPE_INVALID_CONSTANT'), 'NoHttp'],
  ['an unknown name', withCode('ENOTFOUND'), 'HostNotFound'],
  ['a name server that does not answer', withCode('EAI_AGAIN'), 'DnsUnavailable'],
  ['a closed port', withCode('ECONNREFUSED'), 'ConnectionRefused'],
  ['a host without a route', withCode('EHOSTUNREACH'), 'NoRoute'],
  ['a closed connection', withCode('UND_ERR_SOCKET'), 'ConnectionClosed'],
  ['a response timeout', withCode('UND_ERR_HEADERS_TIMEOUT'), 'TimedOut'],
  ['the cause of an error', new TypeError('fetch failed', { cause: withCode('ECONNREFUSED') }), 'ConnectionRefused'],
  ['one of several addresses', new AggregateError([withCode('ECONNREFUSED')]), 'ConnectionRefused'],
  ['an unknown code', withCode('EWHATEVER'), undefined],
  ['undefined', undefined, undefined],
]

describe('connectionFailure', () => {
  for (const [title, error, failure] of cases)
    it(title, () => {
      expect(connectionFailure(error)).to.equal(failure)
    })

  it('returns undefined for a cyclic cause', () => {
    const error = withCode('EWHATEVER')
    error.cause = error
    expect(connectionFailure(error)).to.equal(undefined)
  })
})
