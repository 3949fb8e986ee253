import { expect } from 'chai'
import { referenceAccessReviews } from './references.ts'

const spaces = { group: 'space-of-the-group', boundary: 'space-of-the-boundary' }
const asked = (spec: Record<string, unknown>) =>
  referenceAccessReviews(spec, spaces).map(({ verb, resource, name = '*', namespace }) =>
    [verb, resource, name, namespace.split('-').at(-1)].join(' '),
  )
const safe = 'readsecrets secretvaults safe group'

describe('referenceAccessReviews', () => {
  const cases: [sentence: string, spec: Record<string, unknown>, questions: string[]][] = [
    ['returns nothing for a spec without references', { image: 'busybox', env: [{ name: 'A', value: 'x' }] }, []],
    ['reviews a vault in the environment of a job', { env: { A: '@vault(safe/Key)', B: 'plain' } }, [safe]],
    [
      'reviews a vault in a variable',
      { env: [{ name: 'A', secret: { vaultName: 'safe', secretName: 'Key' } }] },
      [safe],
    ],
    ['reviews a vault that is named twice once', { env: { A: '@vault(safe/Key)', B: '@vault(safe/Other)' } }, [safe]],
    [
      'reviews vaults in a component, in a volume and in a registry credential',
      {
        components: [{ env: [{ name: 'A', secret: { vaultName: 'one', secretName: 'Key' } }] }],
        volumes: [{ secret: { vaultName: 'two' } }],
        registryCredential: { vaultName: 'three', secretName: 'Key' },
      },
      ['one', 'two', 'three'].map((name) => `readsecrets secretvaults ${name} group`),
    ],
    [
      'reviews plain and secret outputs with their own verbs',
      {
        env: [
          { name: 'A', output: { collection: 'vectorclusters', name: 'find', output: 'apiKey' } },
          { name: 'B', output: { collection: 'sqlclusters', name: 'books', output: 'host' } },
          { name: 'C', output: { collection: 'objectstorageaccounts', name: 'media', output: 'secretAccessKey' } },
        ],
      },
      [
        'readsecrets vectorclusters find group',
        'get sqlinstances books group',
        'createkeys objectstorageaccounts media group',
      ],
    ],
    ['reviews an identity', { managedIdentity: true }, ['readsecrets managedidentities * group']],
    [
      'reviews the vault of functionSecrets',
      { functionSecrets: ['secretvaults/keys'] },
      ['readsecrets secretvaults keys group'],
    ],
    [
      'reviews one resource or a whole collection of namespaceSecrets',
      { namespaceSecrets: ['managedidentities', 'secretvaults', 'sqlclusters/books', 'objectstorageaccounts/media'] },
      [
        'readsecrets managedidentities * group',
        'readsecrets secretvaults * group',
        'readsecrets sqlinstances books group',
        'createkeys objectstorageaccounts media group',
      ],
    ],
    [
      'returns nothing for unknown entries of namespaceSecrets',
      { namespaceSecrets: ['nonsense', 'nonsense/x', 7] },
      [],
    ],
    ['returns nothing for namespaceSecrets that is not a list', { namespaceSecrets: 'secretvaults' }, []],
    [
      'reviews the deployment source in the boundary',
      { deploymentSourceId: 'id' },
      ['use deploymentsources id boundary'],
    ],
    ['returns nothing for the vault of an entry', { vaultName: 'safe', secretName: 'Key' }, []],
    ['returns nothing for a command that looks like a reference', { startCommand: '@vault(safe/Key)' }, []],
  ]
  for (const [sentence, spec, questions] of cases) it(sentence, () => expect(asked(spec)).to.deep.equal(questions))
})
