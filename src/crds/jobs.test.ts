import { expect } from 'chai'
import { PlatformJob } from './jobs.ts'

const { env } = PlatformJob.spec.shape

describe('PlatformJob env', () => {
  for (const value of [
    '',
    'x',
    '@',
    '@vaul',
    '@vault',
    '@vaulted(a/b)',
    'a@vault(',
    'two\nlines',
    '@vault(keys/Token-1)',
  ]) {
    it(`accepts ${JSON.stringify(value)}`, () => expect(env.safeParse({ A: value }).success).to.equal(true))
  }
  for (const value of [
    '@vault(',
    '@vault(keys)',
    '@vault(keys/token) x',
    '@vault(Keys/token)',
    '@vault(keys/to/ken)',
    'a\0',
  ]) {
    it(`rejects ${JSON.stringify(value)}`, () => expect(env.safeParse({ A: value }).success).to.equal(false))
  }
})
