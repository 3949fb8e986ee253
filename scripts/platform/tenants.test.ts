import { expect } from 'chai'
import { isServed } from './tenants.ts'

const CASES: readonly [sentence: string, status: number, text: string, served: boolean][] = [
  ['an issuer that the API server does not know yet', 401, 'Unauthorized', false],
  ['an authorizer that does not answer', 500, 'Post "https://127.0.0.1/authorize": connection refused', false],
  ['an admission webhook that does not answer', 500, 'failed calling webhook "iam.freehold.dev"', false],
  ['policies that are not loaded yet', 403, 'forbidden: not yet ready to handle request', false],
  ['an API server that is overloaded', 429, 'Too many requests', false],
  ['an API server that is starting', 503, 'the server is currently unable to handle the request', false],
  ['a successful write', 201, '{}', true],
  ['a refusal of the authorizer', 403, 'The permission rbac/members/admin is missing', true],
  ['a refusal of the admission webhook', 422, 'admission webhook "iam.freehold.dev" denied the request', true],
]

describe('isServed', () => {
  for (const [sentence, status, text, served] of CASES)
    it(`returns ${served} for ${sentence}`, () => {
      expect(isServed({ status, text })).to.equal(served)
    })
})
