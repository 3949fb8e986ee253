import { expect } from 'chai'
import { referenceAccessReviews } from './references.ts'

const spaces = { group: 'space-of-the-group', boundary: 'space-of-the-boundary' }
const asked = (spec: Record<string, unknown>) =>
  referenceAccessReviews(spec, spaces).map(({ verb, resource, name = '*', namespace }) =>
    [verb, resource, name, namespace.split('-').at(-1)].join(' '),
  )
const safe = 'readsecrets secretvaults safe group'

describe('what a component refers to is asked about', () => {
  const cases: [sentence: string, spec: Record<string, unknown>, questions: string[]][] = [
    ['nothing, where it refers to nothing', { image: 'busybox', env: [{ name: 'A', value: 'x' }] }, []],
    ['a vault in the environment of a job', { env: { A: '@vault(safe/Key)', B: 'plain' } }, [safe]],
    ['a vault in a variable', { env: [{ name: 'A', secret: { vaultName: 'safe', secretName: 'Key' } }] }, [safe]],
    ['a vault twice named only once', { env: { A: '@vault(safe/Key)', B: '@vault(safe/Other)' } }, [safe]],
    [
      'a vault in a component, in a volume and for images',
      {
        components: [{ env: [{ name: 'A', secret: { vaultName: 'one', secretName: 'Key' } }] }],
        volumes: [{ secret: { vaultName: 'two' } }],
        registryCredential: { vaultName: 'three', secretName: 'Key' },
      },
      ['one', 'two', 'three'].map((name) => `readsecrets secretvaults ${name} group`),
    ],
    [
      'outputs, plain and secret, each by its own verb',
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
    ['an identity', { managedIdentity: true }, ['readsecrets managedidentities * group']],
    [
      'what variables of functions may come beside',
      { functionSecrets: ['secretvaults/keys'] },
      ['readsecrets secretvaults keys group'],
    ],
    [
      'what a function may be given, one or all of a collection',
      { namespaceSecrets: ['managedidentities', 'secretvaults', 'sqlclusters/books', 'objectstorageaccounts/media'] },
      [
        'readsecrets managedidentities * group',
        'readsecrets secretvaults * group',
        'readsecrets sqlinstances books group',
        'createkeys objectstorageaccounts media group',
      ],
    ],
    ['nothing, where what it may be given is no such thing', { namespaceSecrets: ['nonsense', 'nonsense/x', 7] }, []],
    ['nothing, where what it may be given is no list', { namespaceSecrets: 'secretvaults' }, []],
    [
      'the credentials of a source, in the boundary',
      { deploymentSourceId: 'id' },
      ['use deploymentsources id boundary'],
    ],
    ['nothing of the vault that holds an entry', { vaultName: 'safe', secretName: 'Key' }, []],
    ['nothing of a text that only looks like a reference', { startCommand: '@vault(safe/Key)' }, []],
  ]
  for (const [sentence, spec, questions] of cases) it(sentence, () => expect(asked(spec)).to.deep.equal(questions))
})
