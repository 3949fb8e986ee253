import { expect } from 'chai'
import { isServed } from './tenants.ts'

const CASES: readonly [sentence: string, status: number, text: string, served: boolean][] = [
  ['an issuer that the API server has not found yet', 401, 'Unauthorized', false],
  ['an authorizer that does not answer', 500, 'Post "https://127.0.0.1/authorize": connection refused', false],
  ['an admission webhook that does not answer', 500, 'failed calling webhook "iam.freehold.dev"', false],
  ['policies that are not loaded yet', 403, 'forbidden: not yet ready to handle request', false],
  ['an API server that is too busy', 429, 'Too many requests', false],
  ['an API server that has only begun', 503, 'the server is currently unable to handle the request', false],
  ['a write that would be stored', 201, '{}', true],
  ['a refusal of the authorizer', 403, 'The permission rbac/members/admin is missing', true],
  ['a refusal of admission', 422, 'admission webhook "iam.freehold.dev" denied the request', true],
]

describe('whether tenants are served', () => {
  for (const [sentence, status, text, served] of CASES)
    it(`${served ? 'yes' : 'not yet'}: ${sentence}`, () => {
      expect(isServed({ status, text })).to.equal(served)
    })
})
