import { expect } from 'chai'
import { attempt } from './failures.ts'
import { StoreError } from './port.ts'

const failing = (name: string, httpStatusCode?: number) => () =>
  Promise.reject(
    Object.assign(new Error('<Error>secret of the store</Error>'), { name, $metadata: { httpStatusCode } }),
  )

const CASES: [sentence: string, name: string, status: number | undefined, code: string, words: string][] = [
  ['a missing bucket', 'NoSuchBucket', 404, 'NotFound', 'the store does not know it'],
  ['a missing IAM user', 'NoSuchEntityException', 404, 'NotFound', 'the store does not know it'],
  ['a 404 without words of the store', 'NotFound', 404, 'Refused', 'the store refused it (404 NotFound)'],
  ['a bucket of another owner', 'BucketAlreadyExists', 409, 'Taken', 'the name is taken'],
  ['a full disk', 'InternalError', 507, 'Full', 'the store has no room for it'],
  ['a policy that is too large', 'PolicyTooLarge', 400, 'Full', 'the store has no room for it'],
  ['more users than IAM allows', 'LimitExceededException', 409, 'Full', 'the store has no room for it'],
  ['a refused connection', 'ECONNREFUSED', undefined, 'Unreachable', 'the store did not answer.'],
  ['an internal error of the store', 'InternalError', 500, 'Failed', 'the store failed (500)'],
  ['status 502 from a gateway', 'BadGateway', 502, 'Unreachable', 'the store did not answer (502)'],
  ['status 429', 'TooManyRequests', 429, 'Unreachable', 'the store did not answer (429)'],
  ['SlowDown', 'SlowDown', 400, 'Unreachable', 'the store did not answer (400)'],
  ['an invalid rule from the user', 'InvalidRequest', 400, 'Invalid', 'the store refused it (400 InvalidRequest)'],
  ['a malformed policy', 'MalformedPolicy', 400, 'Refused', 'the store refused it (400 MalformedPolicy)'],
  ['invalid credentials', 'InvalidAccessKeyId', 403, 'Refused', 'the store refused it (403'],
  ['an error code that is not a word', '<script>', 403, 'Refused', 'the store refused it (403).'],
]

describe('attempt', () => {
  for (const [sentence, name, status, code, message] of CASES) {
    it(`reports ${code} for ${sentence}, without quoting the store`, async () => {
      const error = await attempt('The bucket "x" could not be read', failing(name, status)).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(StoreError)
      expect(error.reason).to.equal(code)
      expect(error.message).to.match(/^The bucket "x" could not be read: /)
      expect(error.message).to.include(message)
      expect(error.message).to.not.match(/secret|</)
    })
  }

  it('returns undefined for an expected error code', async () => {
    expect(await attempt('x', failing('NoSuchEntityException', 404), ['NoSuchEntity'])).to.equal(undefined)
  })
})
