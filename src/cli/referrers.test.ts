import { expect } from 'chai'
import { type Referred, refersTo } from './referrers.ts'

const VAULT = { noun: 'secretvaults', name: 'safe', parent: undefined }
const SECRET = { noun: 'secrets', name: 'token', parent: 'safe' }
const DATABASE = { noun: 'relationalclusters', name: 'orders', parent: undefined }
const BUCKET = { noun: 'buckets', name: 'photos', parent: 'media' }

describe('a record refers', () => {
  const secret = { env: [{ name: 'A', secret: { vaultName: 'safe', secretName: 'Token' } }] }
  const output = { env: [{ name: 'A', output: { collection: 'relationalclusters', name: 'orders', output: 'host' } }] }
  const cases: [sentence: string, record: unknown, referred: Referred, expected: boolean][] = [
    ['to a vault in a variable', secret, VAULT, true],
    ['to a secret in a variable, in any case of its name', secret, SECRET, true],
    ['to no other vault', secret, { ...VAULT, name: 'other' }, false],
    ['to no secret of the same name in another vault', secret, { ...SECRET, parent: 'other' }, false],
    ['to a vault in a value of a job', { env: { A: '@vault(safe/Token)' } }, VAULT, true],
    ['to a secret in a value of a job', { env: { A: '@vault(safe/Token)' } }, SECRET, true],
    ['to a database by an output', output, DATABASE, true],
    ['to no other kind of the same name', output, { ...DATABASE, noun: 'sqlclusters' }, false],
    ['to a bucket that calls a function', { triggers: [{ accountName: 'media', bucketName: 'photos' }] }, BUCKET, true],
    [
      'to no bucket of the same name elsewhere',
      { triggers: [{ accountName: 'x', bucketName: 'photos' }] },
      BUCKET,
      false,
    ],
    ['to nothing by a name alone', { name: 'safe', image: 'orders' }, VAULT, false],
  ]
  for (const [sentence, record, referred, expected] of cases)
    it(sentence, () => expect(refersTo(record, referred)).to.equal(expected))
})
