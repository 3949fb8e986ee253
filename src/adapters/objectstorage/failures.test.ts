import { expect } from 'chai'
import { attempt } from './failures.ts'
import { StoreError } from './port.ts'

const failing = (name: string, httpStatusCode?: number) => () =>
  Promise.reject(
    Object.assign(new Error('<Error>secret of the store</Error>'), { name, $metadata: { httpStatusCode } }),
  )

const CASES: [sentence: string, name: string, status: number | undefined, code: string, words: string][] = [
  ['a bucket that is gone', 'NoSuchBucket', 404, 'NotFound', 'the store does not know it'],
  ['a user of IAM that is gone', 'NoSuchEntityException', 404, 'NotFound', 'the store does not know it'],
  ["a bucket of somebody else's", 'BucketAlreadyExists', 409, 'Taken', 'the name is taken'],
  ['a full disk', 'InternalError', 507, 'Full', 'the store has no room for it'],
  ['a policy that has grown too large', 'PolicyTooLarge', 400, 'Full', 'the store has no room for it'],
  ['more users than IAM keeps', 'LimitExceededException', 409, 'Full', 'the store has no room for it'],
  ['no connection', 'ECONNREFUSED', undefined, 'Unreachable', 'the store did not answer.'],
  ['what the store cannot do', 'InternalError', 500, 'Failed', 'the store failed (500)'],
  ['a gateway without a store', 'BadGateway', 502, 'Unreachable', 'the store did not answer (502)'],
  ['too many requests', 'TooManyRequests', 429, 'Unreachable', 'the store did not answer (429)'],
  ['a store that asks to slow down', 'SlowDown', 400, 'Unreachable', 'the store did not answer (400)'],
  ['a rule of the user that cannot be', 'InvalidRequest', 400, 'Invalid', 'the store refused it (400 InvalidRequest)'],
  ['a policy that we wrote', 'MalformedPolicy', 400, 'Refused', 'the store refused it (400 MalformedPolicy)'],
  ['credentials that it does not take', 'InvalidAccessKeyId', 403, 'Refused', 'the store refused it (403'],
  ['a code that is no word', '<script>', 403, 'Refused', 'the store refused it (403).'],
]

describe('a failure of the object store', () => {
  for (const [sentence, name, status, code, words] of CASES) {
    it(`is ${code} for ${sentence}, without a word of the store`, async () => {
      const error = await attempt('The bucket "x" could not be read', failing(name, status)).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(StoreError)
      expect(error.code).to.equal(code)
      expect(error.message).to.match(/^The bucket "x" could not be read: /)
      expect(error.message).to.include(words)
      expect(error.message).to.not.match(/secret|</)
    })
  }

  it('is no answer where its code is expected', async () => {
    expect(await attempt('x', failing('NoSuchEntityException', 404), ['NoSuchEntity'])).to.equal(undefined)
  })
})
