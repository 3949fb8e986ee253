import { expect } from 'chai'
import { COMPONENT_LABEL, REVISION_LABEL } from '../../contracts/containerinstances.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { pod } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { createReviewer, givenToPods, podOwners } from './index.ts'

const [ANNA, B] = ['11111111-1111-4111-8111-111111111111', '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b']
const SPACE = 'orders-0123456789'
const GROUP = `/boundaries/${B}/resourcegroups/orders`
const CONTRIBUTOR = ['write', 'readFiles', 'writeFiles', 'readLogs'].map((right) => `containerinstance/${right}`)
const VAULT = `secretvault/readSecrets ${GROUP}/resources/secretvaults/safe`
const IDENTITY = `managedidentities/readSecrets ${GROUP}`

const labels = { [OWNER_KIND_LABEL]: ContainerInstance.kind, [OWNER_NAME_LABEL]: 'shop', [COMPONENT_LABEL]: 'web' }
const secretVariable = { valueFrom: { secretKeyRef: { name: 'values', key: 'TOKEN' } } }
const metadataOf = (revision: number, creationTimestamp = '2026-02-02T00:00:00Z') => ({
  labels: { ...labels, [REVISION_LABEL]: String(revision) },
  namespace: SPACE,
  creationTimestamp,
})
const secretSpec = { containers: [{ env: [secretVariable] }] }
const PODS: Record<string, object> = {
  old: { metadata: metadataOf(1), spec: secretSpec },
  acting: { metadata: metadataOf(1), spec: { containers: [{}], volumes: [{ name: 'freehold--identity' }] } },
  plain: { metadata: metadataOf(2), spec: { containers: [{ env: [{ name: 'A', value: 'b' }] }] } },
  namesake: { metadata: metadataOf(1, '2026-01-31T00:00:00Z'), spec: secretSpec },
}

/** The current spec has no references. */
const SHOP = {
  metadata: { uid: 'shop', creationTimestamp: '2026-02-01T00:00:00Z' },
  spec: { components: [{ name: 'web', env: [] }], volumes: [], managedIdentity: false },
}
const REVISIONS = [[{ name: 'TOKEN', secret: { vaultName: 'safe', secretName: 'Token' } }], []].map((env, index) => ({
  metadata: { ownerReferences: [{ uid: 'shop' }] },
  revision: index + 1,
  data: { reason: 'Updated', content: { components: [{ name: 'web', env }] } },
}))

async function enter(
  { name, subresource = 'exec' }: { name: string; subresource?: string },
  held: readonly string[] = [],
  list: () => Promise<{ items: object[] }> = async () => ({ items: REVISIONS }),
) {
  const caches = {
    get: <T extends KubeObject>({ plural }: { plural: string }) => ({
      get: (_namespace: string | undefined, key: string) => (plural === pod.plural ? PODS[key] : SHOP) as T | undefined,
      subscribe: () => () => {},
    }),
  }
  const review = createReviewer({
    access: {
      explain: (_principal, action, scope) => {
        const allowed = CONTRIBUTOR.includes(action) || held.includes(`${action} ${scope}`) || held.includes('*')
        return { allowed, reason: allowed ? 'Granted' : 'NotGranted' } as never
      },
      scopesWith: () => ({ denied: [] }) as never,
      boundariesOf: () => ({ everywhere: true, boundaryIds: [] }),
      permissionsAt: () => [],
      catchUp: async () => undefined,
    },
    scopeOfNamespace: () => ({ boundaryId: B, resourceGroup: 'orders' }),
    ownerOf: podOwners(caches),
    givenTo: givenToPods(caches, { list } as unknown as Pick<KubeClient, 'list'>),
    ownerOfPart: () => undefined,
    getGrantRefusal: () => undefined,
    isReady: () => true,
  })
  const resourceAttributes = { group: '', resource: 'pods', subresource, verb: 'create', name, namespace: SPACE }
  const logged = subresource === 'log' ? { ...resourceAttributes, verb: 'get' } : resourceAttributes
  const answer = await review({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: `p:${ANNA}`, resourceAttributes: logged },
  })
  return answer?.status.allowed === true ? 'allowed' : answer?.status.reason
}

describe('createReviewer, entering a pod whose resource no longer refers to secrets', () => {
  const missing = (right: string) => `The permission ${right.replace(' ', ' is missing at ')}.`
  const silent = () => Promise.reject(new Error('no answer'))

  for (const subresource of ['exec', 'attach', 'portforward'])
    it(`requires the right on the vault of an old pod, by ${subresource}`, async () => {
      expect(await enter({ name: 'old', subresource })).to.equal(missing(VAULT))
      expect(await enter({ name: 'old', subresource }, [VAULT])).to.equal('allowed')
    })

  it('requires the right on identities if the pod still has one', async () => {
    expect(await enter({ name: 'acting' })).to.equal(missing(IDENTITY))
    expect(await enter({ name: 'acting' }, [IDENTITY])).to.equal('allowed')
  })

  it('requires nothing else if the pod has no secrets, without a call to the API server', async () => {
    expect(await enter({ name: 'plain' }, [], () => expect.fail())).to.equal('allowed')
  })

  it('requires the rights on the whole group while the API server does not answer', async () => {
    expect(await enter({ name: 'old' }, [VAULT], silent)).to.equal(missing(`secretvault/readSecrets ${GROUP}`))
    expect(await enter({ name: 'old' }, ['*'], silent)).to.equal('allowed')
  })

  it('requires the rights on the whole group for a pod older than its resource', async () => {
    expect(await enter({ name: 'namesake' }, [VAULT])).to.equal(missing(`secretvault/readSecrets ${GROUP}`))
  })

  it('allows nobody to enter an unknown pod', async () => {
    expect(await enter({ name: 'gone' }, ['*'])).to.match(/gives no access to exec/)
  })

  it('requires less for the log, without a call to the API server', async () => {
    expect(await enter({ name: 'old', subresource: 'log' }, [], () => expect.fail())).to.equal('allowed')
  })
})
