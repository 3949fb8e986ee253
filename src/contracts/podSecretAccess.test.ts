import { expect } from 'chai'
import { COMPONENT_LABEL, REVISION_LABEL } from './containerinstances.ts'
import { type PodWithSecrets, podSecretRights, type ReferringRevision } from './podSecretAccess.ts'

const ANYTHING = [
  'secretvault/readSecrets',
  ...['vectorcluster/read', 'vectorcluster/readSecrets'],
  ...['relationalcluster/read', 'relationalcluster/readSecrets', 'sqlcluster/read', 'sqlcluster/readSecrets'],
  ...['containerinstance/read', 'apps/read', 'staticwebapp/read', 'functions/read'],
  ...['objectstorageaccounts/read', 'objectaccesskeys/write'],
]
const IDENTITY = 'managedidentities/readSecrets'

const inVault = (vaultName: string) => ({ secret: { vaultName, secretName: 'Token' } })
const web = (...env: object[]) => ({ components: [{ name: 'web', env }] })
const database = { output: { collection: 'relationalclusters' as const, name: 'db', output: 'password' } }
const address = { output: { collection: 'relationalclusters' as const, name: 'db', output: 'host' } }

/** A pod of the component "web". */
function podOf(spec: PodWithSecrets['spec'], revision = '2'): PodWithSecrets {
  const labels = { [COMPONENT_LABEL]: 'web', [REVISION_LABEL]: revision }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-1', labels }, spec: spec ?? {} }
}

const variable = { env: [{ valueFrom: { secretKeyRef: { name: 'values', key: 'TOKEN' } } }] }
const files = { name: 'certs', secret: { secretName: 'files' } }
const identity = { name: 'freehold--identity', secret: { secretName: 'mi' } }

describe('podSecretRights', () => {
  const table: [
    sentence: string,
    pod: PodWithSecrets,
    revisions: Record<number, ReferringRevision['refers']>,
    string[],
  ][] = [
    [
      'nothing for plain variables and volumes',
      podOf({
        containers: [{ env: [{ valueFrom: {} }, {}], envFrom: [{}] }],
        volumes: [{ name: 'data' }, { name: 'token', projected: { sources: [{}] } }],
      }),
      { 2: { ...web(inVault('safe')), volumes: [inVault('certs')] } },
      [],
    ],
    [
      'nothing for the files of its revision if it mounts none',
      podOf({ containers: [variable] }),
      { 2: { ...web(address), volumes: [inVault('certs')] } },
      ['relationalcluster/read at db'],
    ],
    ['nothing for a pod without containers', { ...podOf({}), spec: {} }, {}, []],
    [
      "the vault of a variable in the pod's revision, though the newest has none",
      podOf({ containers: [variable] }),
      { 2: web(inVault('safe')), 3: web() },
      ['secretvault/readSecrets at safe'],
    ],
    [
      "the database of a variable in the pod's revision",
      podOf({ containers: [variable] }),
      { 2: web(database) },
      ['relationalcluster/readSecrets at db'],
    ],
    [
      'the right to read a database for its address',
      podOf({ containers: [variable] }),
      { 2: web(address) },
      ['relationalcluster/read at db'],
    ],
    [
      'rights for later revisions too, since a container may have restarted, but not for earlier ones',
      podOf({ containers: [variable] }),
      { 1: web(inVault('former')), 2: web(address), 3: web(inVault('safe')), 4: web() },
      ['relationalcluster/read at db', 'secretvault/readSecrets at safe'],
    ],
    [
      'nothing for other components',
      podOf({ containers: [variable] }),
      {
        2: {
          components: [
            { name: 'web', env: [address] },
            { name: 'other', env: [inVault('safe')] },
          ],
        },
      },
      ['relationalcluster/read at db'],
    ],
    [
      'the vaults of an app, whose component has no name',
      podOf({ containers: [variable] }),
      { 2: { components: [{ env: [inVault('safe')] }] } },
      ['secretvault/readSecrets at safe'],
    ],
    [
      'the vault of a mounted file',
      podOf({ containers: [{}], volumes: [files] }),
      { 2: { ...web(inVault('unseen')), volumes: [inVault('certs')] }, 3: web() },
      ['secretvault/readSecrets at certs'],
    ],
    ['all rights in the group if the revision is gone', podOf({ containers: [variable] }), { 3: web() }, ANYTHING],
    [
      'all rights in the group if the pod names no revision',
      podOf({ containers: [variable] }, ''),
      { 2: web() },
      ANYTHING,
    ],
    [
      'all rights in the group if the revision lacks the component',
      podOf({ containers: [variable] }),
      { 2: { components: [{ name: 'other', env: [] }] } },
      ANYTHING,
    ],
    ['all rights for an init container', podOf({ initContainers: [variable] }), {}, ANYTHING],
    ['all rights for an ephemeral container', podOf({ ephemeralContainers: [variable] }), {}, ANYTHING],
    [
      'all rights for a whole Secret',
      podOf({ containers: [{ envFrom: [{ secretRef: { name: 's' } }] }] }),
      {},
      ANYTHING,
    ],
    ['all rights for a mounted Secret', podOf({ volumes: [files] }), {}, ANYTHING],
    [
      'all rights for a projected Secret',
      podOf({ volumes: [{ name: 'all', projected: { sources: [{ secret: { name: 's' } }] } }] }),
      {},
      ANYTHING,
    ],
    [
      'the right to read identities for its identity',
      podOf({ volumes: [identity] }),
      { 2: { ...web(inVault('safe')), volumes: [inVault('certs')] } },
      [IDENTITY],
    ],
    [
      'the right to read identities along with what its revision refers to',
      podOf({ containers: [variable], volumes: [identity] }),
      { 2: web(address) },
      ['relationalcluster/read at db', IDENTITY],
    ],
    [
      'all rights and the right to read identities for both',
      podOf({ containers: [variable], volumes: [identity] }),
      {},
      [...ANYTHING, IDENTITY],
    ],
  ]
  for (const [sentence, pod, revisions, rights] of table) {
    it(`returns ${sentence}`, () => {
      const known = Object.entries(revisions).map(([number, refers]) => ({ number: Number(number), refers }))
      const found = podSecretRights(pod, known).map((right) =>
        'name' in right ? `${right.action} at ${right.name}` : right.action,
      )
      expect(found).to.have.members(rights)
    })
  }
})
