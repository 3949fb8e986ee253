import { expect } from 'chai'
import { type ConnectionFailure, connectionFailure } from './connectionFailure.ts'

const withCode = (code: string, more: object = {}) => Object.assign(new Error('It failed.'), { code, ...more })

const cases: [title: string, error: unknown, failure: ConnectionFailure | undefined][] = [
  ['a certificate that signed itself is not trusted', withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'Untrusted'],
  ['a certificate of an unknown authority is not trusted', withCode('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'Untrusted'],
  ['a certificate that is over is not trusted', withCode('CERT_HAS_EXPIRED'), 'Untrusted'],
  ['a certificate for another host is not trusted', withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'Untrusted'],
  ['plain HTTP where TLS is spoken is no TLS', withCode('ERR_SSL_WRONG_VERSION_NUMBER'), 'NoTls'],
  ['an answer that is no HTTP', withCode('HPE_INVALID_CONSTANT'), 'NoHttp'],
  ['a name that nobody knows', withCode('ENOTFOUND'), 'NameUnknown'],
  ['a name that no server tells now', withCode('EAI_AGAIN'), 'NoNameServer'],
  ['a port at which nobody listens', withCode('ECONNREFUSED'), 'NobodyListens'],
  ['a host to which there is no way', withCode('EHOSTUNREACH'), 'NoWay'],
  ['a connection that was closed', withCode('UND_ERR_SOCKET'), 'Closed'],
  ['an answer that did not come', withCode('UND_ERR_HEADERS_TIMEOUT'), 'Late'],
  ['what an error came from', new TypeError('fetch failed', { cause: withCode('ECONNREFUSED') }), 'NobodyListens'],
  ['one of several addresses', new AggregateError([withCode('ECONNREFUSED')]), 'NobodyListens'],
  ['what nobody thought of', withCode('EWHATEVER'), undefined],
  ['what is no error', undefined, undefined],
]

describe('why nothing was answered', () => {
  for (const [title, error, failure] of cases)
    it(title, () => {
      expect(connectionFailure(error)).to.equal(failure)
    })

  it('ends where causes go in a circle', () => {
    const error = withCode('EWHATEVER')
    error.cause = error
    expect(connectionFailure(error)).to.equal(undefined)
  })
})
