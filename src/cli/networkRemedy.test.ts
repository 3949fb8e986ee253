import { expect } from 'chai'
import { networkRemedy } from './networkRemedy.ts'

const failed = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })

describe('networkRemedy', () => {
  for (const [code, expected] of [
    ['ECONNREFUSED', /Nothing listens there/],
    ['ENOTFOUND', /name is unknown/],
    ['UND_ERR_CONNECT_TIMEOUT', /cannot be reached/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /certificate is not trusted/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /certificate is not trusted/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /certificate is not trusted/],
    ['ECONNRESET', /closed before the answer/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /http or https/],
  ] as const) {
    it(`explains ${code}`, () => expect(networkRemedy(failed(code))).to.match(expected))
  }

  it('explains the errors of a host with several addresses', () => {
    const each = Object.assign(new Error('x'), { code: 'ECONNREFUSED' })
    expect(networkRemedy(new TypeError('fetch failed', { cause: new AggregateError([each, each]) }))).to.match(
      /Nothing/,
    )
  })

  it('returns undefined for another error', () => expect(networkRemedy(new Error('odd'))).to.equal(undefined))
})
