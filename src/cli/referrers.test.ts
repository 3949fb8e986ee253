import { expect } from 'chai'
import { type Referred, refersTo } from './referrers.ts'

const VAULT = { noun: 'secretvaults', name: 'safe', parent: undefined }
const SECRET = { noun: 'secrets', name: 'token', parent: 'safe' }
const DATABASE = { noun: 'relationalclusters', name: 'orders', parent: undefined }
const BUCKET = { noun: 'buckets', name: 'photos', parent: 'media' }

describe('refersTo', () => {
  const secret = { env: [{ name: 'A', secret: { vaultName: 'safe', secretName: 'Token' } }] }
  const output = { env: [{ name: 'A', output: { collection: 'relationalclusters', name: 'orders', output: 'host' } }] }
  const cases: [sentence: string, record: unknown, referred: Referred, expected: boolean][] = [
    ['finds a vault in a variable', secret, VAULT, true],
    ['finds a secret in a variable, ignoring case', secret, SECRET, true],
    ['ignores another vault', secret, { ...VAULT, name: 'other' }, false],
    ['ignores a secret of the same name in another vault', secret, { ...SECRET, parent: 'other' }, false],
    ['finds a vault in a value of a job', { env: { A: '@vault(safe/Token)' } }, VAULT, true],
    ['finds a secret in a value of a job', { env: { A: '@vault(safe/Token)' } }, SECRET, true],
    ['finds a database in an output', output, DATABASE, true],
    ['ignores another kind of the same name', output, { ...DATABASE, noun: 'sqlclusters' }, false],
    [
      'finds a bucket that triggers a function',
      { triggers: [{ accountName: 'media', bucketName: 'photos' }] },
      BUCKET,
      true,
    ],
    [
      'ignores a bucket of the same name in another account',
      { triggers: [{ accountName: 'x', bucketName: 'photos' }] },
      BUCKET,
      false,
    ],
    ['ignores a name in other fields', { name: 'safe', image: 'orders' }, VAULT, false],
  ]
  for (const [sentence, record, referred, expected] of cases)
    it(sentence, () => expect(refersTo(record, referred)).to.equal(expected))
})
