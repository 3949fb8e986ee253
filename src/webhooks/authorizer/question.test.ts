import { expect } from 'chai'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { actionsInsidePod } from './podAccess.ts'
import { principalOfUser, questionOf, type ReviewQuestion, rateLimitTenantOf } from './question.ts'

const PRINCIPAL = '11111111-1111-4111-8111-111111111111'
const B = '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b'
const HOME = `boundary-${B}`
const SPACE = 'orders-0123456789'
const [BOUNDARY, GROUP] = [`/boundaries/${B}`, `/boundaries/${B}/resourcegroups/orders`]

const scopeOfNamespace = (namespace: string) =>
  ({ [HOME]: { boundaryId: B }, [SPACE]: { boundaryId: B, resourceGroup: 'orders' } })[namespace]

const ownerOf = (namespace: string, pod: string) =>
  namespace === SPACE
    ? {
        'vc-mine-0': { kind: 'VectorCluster', name: 'mine' },
        'job-0': { kind: 'PlatformJob', name: 'report' },
        'forged-0': { kind: 'Boundary', name: B },
        'shop-0': {
          kind: 'ContainerInstance',
          name: 'shop',
          referencedRights: [{ action: 'secretvault/readSecrets' as const, collection: 'secretvaults', name: 'safe' }],
        },
      }[pod]
    : undefined

const GROUP_OF = {
  boundaries: 'freehold.dev',
  resourcegroups: 'freehold.dev',
  computeplans: 'freehold.dev',
  platformclusters: 'freehold.dev',
  nameclaims: 'freehold.dev',
  vectorclusters: 'data.freehold.dev',
  vaultentries: 'data.freehold.dev',
  accountbuckets: 'data.freehold.dev',
  objectaccesskeys: 'data.freehold.dev',
  objectstorageaccounts: 'data.freehold.dev',
  relationalsnapshots: 'data.freehold.dev',
  platformalerts: 'monitoring.freehold.dev',
  ...Object.fromEntries(
    [
      ...['roleassignments', 'roledefinitions', 'principalgroups', 'denyassignments', 'jitrequests', 'boundarytrusts'],
      ...['memberinvitations', 'platformusers'],
    ].map((plural) => [plural, 'iam.freehold.dev']),
  ),
} as Record<string, string>

/** `list vectorclusters/scale name -n namespace`, as for kubectl. */
function ask(words: string, user = `p:${PRINCIPAL}`) {
  const [request = '', namespace = ''] = words.split(' -n ')
  const [verb = '', what = '', name = ''] = request.split(' ')
  const [whole = '', subresource = ''] = what.split('/')
  const [resource = '', ...ofCore] = whole.split('.')
  const group = GROUP_OF[resource] ?? ofCore.join('.')
  return questionOf(
    { user, resourceAttributes: { group, resource, subresource, verb, name, namespace } },
    scopeOfNamespace,
    ownerOf,
    (_kind, _namespace, part) => (part.endsWith('of-mine') ? 'mine' : undefined),
  )
}

const ASKED: [words: string, action: string, scope: string, isOfAll?: 'of all'][] = [
  [`get vectorclusters mine -n ${SPACE}`, 'vectorcluster/read', `${GROUP}/resources/vectorclusters/mine`],
  [`get vectorclusters/status mine -n ${SPACE}`, 'vectorcluster/read', `${GROUP}/resources/vectorclusters/mine`],
  [`list vectorclusters -n ${SPACE}`, 'vectorcluster/read', GROUP, 'of all'],
  // The name of an alert does not say to which group it belongs.
  [`get platformalerts some -n ${HOME}`, 'monitoring/read', BOUNDARY, 'of all'],
  [`patch platformalerts some -n ${HOME}`, 'monitoring/platform/alerts/write', BOUNDARY, 'of all'],
  // A part is authorized at the resource that it names; an unknown part, at all of them.
  [`get accountbuckets b-of-mine -n ${SPACE}`, 'objectbuckets/read', `${GROUP}/resources/objectstorageaccounts/mine`],
  [
    `delete accountbuckets b-of-mine -n ${SPACE}`,
    'objectbuckets/delete',
    `${GROUP}/resources/objectstorageaccounts/mine`,
  ],
  [
    `patch objectaccesskeys k-of-mine -n ${SPACE}`,
    'objectaccesskeys/write',
    `${GROUP}/resources/objectstorageaccounts/mine`,
  ],
  [
    `get relationalsnapshots s-of-mine -n ${SPACE}`,
    'relationalcluster/read',
    `${GROUP}/resources/relationalclusters/mine`,
  ],
  [`get accountbuckets unknown -n ${SPACE}`, 'objectbuckets/read', GROUP, 'of all'],
  [`create accountbuckets -n ${SPACE}`, 'objectbuckets/write', GROUP],
  [
    `createbuckets objectstorageaccounts mine -n ${SPACE}`,
    'objectbuckets/write',
    `${GROUP}/resources/objectstorageaccounts/mine`,
  ],
  [`watch vectorclusters -n ${SPACE}`, 'vectorcluster/read', GROUP, 'of all'],
  [`create vectorclusters -n ${SPACE}`, 'vectorcluster/write', GROUP],
  [`patch vectorclusters mine -n ${SPACE}`, 'vectorcluster/write', `${GROUP}/resources/vectorclusters/mine`],
  [`delete vectorclusters mine -n ${SPACE}`, 'vectorcluster/delete', `${GROUP}/resources/vectorclusters/mine`],
  [`deletecollection vectorclusters -n ${SPACE}`, 'vectorcluster/delete', GROUP, 'of all'],
  [`patch vectorclusters/scale mine -n ${SPACE}`, 'vectorcluster/scale', `${GROUP}/resources/vectorclusters/mine`],
  [`get vectorclusters/scale mine -n ${SPACE}`, 'vectorcluster/read', `${GROUP}/resources/vectorclusters/mine`],
  [`readsecrets vectorclusters x -n ${SPACE}`, 'vectorcluster/readSecrets', `${GROUP}/resources/vectorclusters/x`],
  [`get vaultentries v-0123456789abcdef0123 -n ${SPACE}`, 'secretvault/read', `${GROUP}/resources/secretvaults/v`],
  [
    `patch vaultentries v-0123456789abcdef0123 -n ${SPACE}`,
    'secretvault/writeSecrets',
    `${GROUP}/resources/secretvaults/v`,
  ],
  [`create vaultentries -n ${SPACE}`, 'secretvault/writeSecrets', GROUP],
  [`get resourcegroups orders -n ${HOME}`, 'resourcegroups/read', GROUP],
  [`create resourcegroups -n ${HOME}`, 'resourcegroups/write', BOUNDARY],
  [`list resourcegroups -n ${HOME}`, 'resourcegroups/read', BOUNDARY, 'of all'],
  // None exist there, but `kubectl get freehold` lists all kinds.
  [`list resourcegroups -n ${SPACE}`, 'resourcegroups/read', GROUP, 'of all'],
  [`list vectorclusters -n ${HOME}`, 'vectorcluster/read', BOUNDARY, 'of all'],
  [`get boundaries ${B}`, 'boundaries/read', BOUNDARY],
  [`watch boundaries ${B}`, 'boundaries/read', BOUNDARY],
  [`patch boundaries ${B}`, 'boundaries/manage', BOUNDARY],
  [`list roleassignments -n ${HOME}`, 'rbac/members/read', BOUNDARY, 'of all'],
  [`create roleassignments -n ${HOME}`, 'boundaries/members/manage', BOUNDARY],
  [`delete roleassignments x -n ${HOME}`, 'boundaries/members/manage', BOUNDARY],
  ['create roleassignments -n freehold-system', 'rbac/members/admin', '/'],
  ['get roleassignments x -n freehold-system', 'rbac/members/read', '/'],
  [`patch principalgroups x -n ${HOME}`, 'rbac/members/write', BOUNDARY],
  [`create denyassignments -n ${HOME}`, 'rbac/members/write', BOUNDARY],
  [`create jitrequests -n ${HOME}`, 'boundaries/read', BOUNDARY],
  ['create boundarytrusts -n freehold-system', 'rbac/boundaryTrusts/admin', '/'],
  ['patch roledefinitions auditor', 'rbac/members/admin', '/'],
  ['list platformclusters', 'kernel/clusters/read', '/', 'of all'],
  [`list pods -n ${SPACE}`, 'resourcegroups/read', GROUP, 'of all'],
  [`get pods vc-mine-0 -n ${SPACE}`, 'resourcegroups/read', GROUP, 'of all'],
  [`watch pods -n ${SPACE}`, 'resourcegroups/read', GROUP, 'of all'],
  [`list services -n ${SPACE}`, 'resourcegroups/read', GROUP, 'of all'],
  [`list events -n ${SPACE}`, 'resourcegroups/read', GROUP, 'of all'],
  [`list events.events.k8s.io -n ${HOME}`, 'resourcegroups/read', BOUNDARY, 'of all'],
  [`list events.events.k8s.io -n ${SPACE}`, 'resourcegroups/read', GROUP, 'of all'],
  [`get pods/log job-0 -n ${SPACE}`, 'jobs/readLogs', `${GROUP}/resources/jobs/report`],
  [`list events -n ${HOME}`, 'resourcegroups/read', BOUNDARY, 'of all'],
]

const LEFT_TO_OTHERS: [title: string, words: string][] = [
  ['a vault entry whose name contains no vault', `get vaultentries mine -n ${SPACE}`],
  ['the deletion of a vault entry', `delete vaultentries v-0123456789abcdef0123 -n ${SPACE}`],
  ['a list across all namespaces', 'list vectorclusters'],
  ['a list of all boundaries', 'list boundaries'],
  ['a boundary whose name is not a uuid', 'get boundaries acme'],
  ['the creation of a boundary, which only REST does', 'create boundaries'],
  ['the deletion of a boundary, which only REST does', `delete boundaries ${B}`],
  ['a namespace without a boundary', 'list vectorclusters -n default'],
  ['a kind of groups in the namespace of a boundary', `get vectorclusters mine -n ${HOME}`],
  ['the creation of such a kind there', `create vectorclusters -n ${HOME}`],
  ['the deletion of all of such a kind there', `deletecollection vectorclusters -n ${HOME}`],
  ['a kind of boundaries in the namespace of a group', `get resourcegroups orders -n ${SPACE}`],
  ['an invalid name of a group', `patch resourcegroups ..%2fother -n ${HOME}`],
  ['another subresource of a kind', `get vectorclusters/other mine -n ${SPACE}`],
  ['a subresource of a kind that everybody may read', 'get computeplans/other small'],
  ['the grant of anything but a role', `grant vectorclusters mine -n ${SPACE}`],
  ['an invalid name', `get vectorclusters ..%2fother -n ${SPACE}`],
  ['a write of a status, which only controllers do', `patch vectorclusters/status mine -n ${SPACE}`],
  ['a kind without actions', 'list nameclaims'],
  ['the approval of a request', `patch jitrequests x -n ${HOME}`],
  ['groups of the platform, which only administrators write', 'create principalgroups -n freehold-system'],
  ['the invitation of people, which only REST does', `create memberinvitations -n ${HOME}`],
  ['users of the platform', 'list platformusers -n freehold-system'],
  ['the grant of a role without a scope', 'grant roledefinitions Owner'],
  ['the grant of roles without a name', `grant roledefinitions -n ${HOME}`],
  ['Secrets', `get secrets vc-mine-keys -n ${SPACE}`],
  ['the creation of pods', `create pods -n ${SPACE}`],
  ['exec in a pod of a database', `create pods/exec vc-mine-0 -n ${SPACE}`],
  ['the log of a pod of a database', `get pods/log vc-mine-0 -n ${SPACE}`],
  ['a port of a pod of a database', `create pods/portforward vc-mine-0 -n ${SPACE}`],
  ['exec in a pod of a job, which REST does not allow', `get pods/exec job-0 -n ${SPACE}`],
  ['the log of a pod without an owner', `get pods/log other -n ${SPACE}`],
  ['exec in a files pod', `create pods/exec files-1 -n ${SPACE}`],
  ['exec in a pod whose labels name another kind', `create pods/exec forged-0 -n ${SPACE}`],
  ['an ephemeral container of a pod', `patch pods/ephemeralcontainers web-0 -n ${SPACE}`],
  ['the eviction of a pod', `create pods/eviction web-0 -n ${SPACE}`],
  ['a log without a name', `get pods/log -n ${SPACE}`],
  ['a log with another verb', `list pods/log web-0 -n ${SPACE}`],
  ['the proxy of a pod', `get pods/proxy vc-mine-0 -n ${SPACE}`],
  ['pods in the namespace of a boundary', `list pods -n ${HOME}`],
  ['a binding of Kubernetes roles', `create rolebindings.rbac.authorization.k8s.io -n ${SPACE}`],
  ['all verbs at once', `* vectorclusters -n ${SPACE}`],
]

describe('questionOf', () => {
  for (const [words, action, scope, isOfAll] of ASKED) {
    it(`maps ${words.replaceAll(B, '<id>')} to ${action}`, () => {
      const principalId = PRINCIPAL
      const {
        alsoRequired: also = [],
        shows = [],
        ...rest
      } = ask(words) as Extract<ReviewQuestion, { asks: 'evaluator' }>
      expect(also).to.deep.equal([])
      const isOfResources =
        /^(get|list|watch) (pods|events|services)/.test(words) && action === 'resourcegroups/read' && scope === GROUP
      const reads = RESOURCE_KINDS.map(({ actions }) => `${actions}/read`)
      expect(shows).to.deep.equal(isOfResources ? reads : [])
      expect(rest).to.deep.equal({
        asks: 'evaluator',
        principalId,
        action,
        scope,
        isOfAll: isOfAll !== undefined,
      })
    })
  }

  for (const [title, words] of LEFT_TO_OTHERS) {
    it(`leaves ${title} to other authorizers`, () => {
      expect(ask(words)).to.include({ asks: 'nothing', isAllowed: false })
    })
  }

  it('requires the secrets of a container for exec, attach and port-forward, but not for its log', () => {
    const alsoRequired = (words: string) => (ask(words) as Extract<ReviewQuestion, { asks: 'evaluator' }>).alsoRequired
    const shop = `${GROUP}/resources/containerinstances/shop`
    const inside = ['readFiles', 'writeFiles'].map((verb) => ({ action: `containerinstance/${verb}`, scope: shop }))
    const vault = { action: 'secretvault/readSecrets', scope: `${GROUP}/resources/secretvaults/safe` }
    for (const subresource of ['exec', 'attach', 'portforward'])
      expect(alsoRequired(`create pods/${subresource} shop-0 -n ${SPACE}`)).to.deep.equal([...inside, vault])
    expect(alsoRequired(`get pods/log shop-0 -n ${SPACE}`)).to.equal(undefined)
  })

  it('asks the rules of granting about a role by its display name, at the scope of the namespace', () => {
    const ofRole = (namespace: string, subresource = '') => {
      const resourceAttributes = { group: 'iam.freehold.dev', resource: 'roledefinitions', subresource, verb: 'grant' }
      const attributes = { ...resourceAttributes, name: 'Platform Owner', namespace }
      return questionOf({ user: `p:${PRINCIPAL}`, resourceAttributes: attributes }, scopeOfNamespace, ownerOf)
    }
    const grant = { asks: 'grant', principalId: PRINCIPAL, roleName: 'Platform Owner' }
    expect(ofRole(HOME)).to.deep.equal({ ...grant, scope: BOUNDARY })
    expect(ofRole('freehold-system')).to.deep.equal({ ...grant, scope: '/' })
    expect(ofRole(SPACE)).to.deep.equal({ ...grant, scope: GROUP })
    expect(ofRole(SPACE, 'apps/web')).to.deep.equal({ ...grant, scope: `${GROUP}/resources/apps/web` })
    for (const [namespace, at] of [
      [SPACE, '../web'],
      [SPACE, 'apps'],
      [HOME, 'apps/web'],
      ['freehold-system', 'apps/web'],
      ['default', ''],
    ] as const)
      expect(ofRole(namespace, at), `${namespace} ${at}`).to.include({ asks: 'nothing', isAllowed: false })
  })

  it('allows every principal to read plans, but not to write them', () => {
    expect(ask('list computeplans')).to.include({ asks: 'nothing', isAllowed: true })
    expect(ask('create computeplans')).to.include({ asks: 'nothing', isAllowed: false })
  })

  it('leaves users that are not principals to other authorizers', () => {
    for (const user of ['kubernetes-admin', 'p:root', PRINCIPAL, `p:${PRINCIPAL}x`, `P:${PRINCIPAL}`, '']) {
      expect(ask('list computeplans', user), user).to.include({ asks: 'nothing', isAllowed: false })
      expect(principalOfUser(user), user).to.equal(undefined)
    }
    expect(questionOf({ user: `p:${PRINCIPAL}` }, scopeOfNamespace, ownerOf)).to.include({
      asks: 'nothing',
      isAllowed: false,
    })
  })
})

describe('actionsInsidePod', () => {
  const inside = ['write', 'readFiles', 'writeFiles']
  const cases: [words: string, prefix: string, actions: readonly string[] | undefined][] = [
    ['get log', 'containerinstance', ['readLogs']],
    ['create log', 'containerinstance', undefined],
    ['get exec', 'containerinstance', inside],
    ['create exec', 'apps', inside],
    ['create attach', 'apps', inside],
    ['create portforward', 'containerinstance', inside],
    ['get portforward', 'containerinstance', inside],
    ['delete exec', 'containerinstance', undefined],
    ['get proxy', 'containerinstance', undefined],
    ['get constructor', 'containerinstance', undefined],
    ['get toString', 'containerinstance', undefined],
    ['patch ephemeralcontainers', 'containerinstance', undefined],
    ['get log', 'jobs', ['readLogs']],
    ['create exec', 'jobs', undefined],
    ['create exec', 'functions', undefined],
    ...['vectorcluster', 'sqlcluster', 'relationalcluster'].flatMap((prefix): [string, string, undefined][] => [
      ['get log', prefix, undefined],
      ['create exec', prefix, undefined],
      ['create portforward', prefix, undefined],
    ]),
  ]
  for (const [words, prefix, rights] of cases) {
    const needs = rights === undefined ? 'is open to nobody' : `needs ${rights.join(', ')}`
    it(`${words} of ${prefix} ${needs}`, () => {
      const [verb = '', subresource = ''] = words.split(' ')
      const expected = rights?.map((right) => `${prefix}/${right}`)
      expect(actionsInsidePod({ actions: prefix }, subresource, verb)).to.deep.equal(expected)
    })
  }
})

describe('rateLimitTenantOf', () => {
  const cases: [sentence: string, user: string, tenant: string | undefined][] = [
    ['the principal for a principal', `p:${PRINCIPAL}`, `p:${PRINCIPAL}`],
    [
      "the namespace for a tenant's service account",
      `system:serviceaccount:${SPACE}:x`,
      `system:serviceaccount:${SPACE}`,
    ],
    ['undefined for a controller of the cluster', 'system:serviceaccount:flux-system:kustomize-controller', undefined],
    ['undefined for an administrator', 'kubernetes-admin', undefined],
    ['undefined for a name that resembles a principal', 'p:anna', undefined],
  ]
  for (const [sentence, user, tenant] of cases)
    it(`returns ${sentence}`, () => expect(rateLimitTenantOf(user, scopeOfNamespace)).to.equal(tenant))
})
