import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dump, load } from 'js-yaml'
import type { GatewayPorts } from '../../scripts/node/addresses.ts'
import type { RunningStore } from '../../scripts/objectstore/start.ts'
import type { RunningRegistry } from '../../scripts/registry/start.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformClient } from '../../src/crds/identity.ts'
import { KINDS } from '../../src/crds/index.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { clusterRole, clusterRoleBinding, roleBinding, secret } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { loadKubeconfig, parseKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'

/** What `scripts/test/platform.ts` tells tests about the platform that they share. */
export type TestPlatformFile = {
  facadeUrl: string
  /** Where calls of functions are taken. */
  activatorUrl: string
  tokenUrl: string
  managementUrl: string
  realm: string
  clientId: string
  clientSecret: string
  /** Owner of everything, who can sign in with a browser. */
  person: { userName: string; initialPassword: string }
  kubeconfig: string
  kubectlPath: string
  certificateAuthority: string
  folder: string
  /** Ports on 127.0.0.1 that lead to the Gateway; absent without a real node. */
  gateway?: GatewayPorts
  /** Where Git hosts and registries are played. */
  git: {
    port: number
    host: string
    /** The same over ssh. */
    ssh: { port: number; host: string }
    certificate: string
    key: string
    tokenFile: string
  }
  /** The object store beside the platform; absent if the machine cannot build it. */
  store?: RunningStore
  /** The registry of images beside it; absent likewise. */
  registry?: RunningRegistry
}

export const PLATFORM_VARIABLE = 'FREEHOLD_TEST_PLATFORM'

/** @throws Error if no platform runs for the tests */
export function testPlatform(): TestPlatformFile {
  const path = process.env[PLATFORM_VARIABLE]
  if (path === undefined)
    throw new Error(`${PLATFORM_VARIABLE} is not set: run this file with \`npm run test:e2e -- <file>\`.`)
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** A client with the rights of the cluster's administrator. Close it. */
export async function administrator(): Promise<KubeClient> {
  return createKubeClient(loadKubeconfig(testPlatform().kubeconfig), {
    fieldManager: 'test',
    userAgent: 'freehold-test',
  })
}

/** A client with nothing but a bearer token, as a tenant's kubectl has. Close it. */
export async function clientWithToken(token: string): Promise<KubeClient> {
  const kubeconfig = load(readFileSync(testPlatform().kubeconfig, 'utf8')) as { users: { user: object }[] }
  const users = kubeconfig.users.map((user) => ({ ...user, user: { token } }))
  const access = parseKubeconfig(dump({ ...kubeconfig, users }), 'kubeconfig of a tenant')
  return askingAgain(createKubeClient(access, { fieldManager: 'tenant', userAgent: 'freehold-test-tenant' }))
}

/**
 * Where the authorizer takes longer than the API server waits for it, as on a machine with too much to do, a tenant gets a
 * 500 and nothing has happened: they ask again, and so does this client, five times.
 */
function askingAgain<Client extends object>(client: Client): Client {
  const answered = async (ask: () => unknown, first: Promise<unknown>): Promise<unknown> => {
    let answer = first
    for (let timesLeft = 5; ; timesLeft -= 1) {
      try {
        return await answer
      } catch (error) {
        if (!isKubeError(error) || error.status !== 500 || timesLeft === 0) throw error
        answer = Promise.resolve(ask())
      }
    }
  }
  return new Proxy(client, {
    get(target, key) {
      const method: unknown = Reflect.get(target, key)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        const ask = () => method.apply(target, args) as unknown
        const answer = ask()
        return answer instanceof Promise ? answered(ask, answer) : answer
      }
    },
  })
}

export type ServiceAccount = { clientId: string; clientSecret: string; token: string }

/**
 * A service account without any right, and a token of it.
 *
 * @param tokenUrl of a platform of the test's own
 */
export async function makeServiceAccount(
  admin: KubeClient,
  displayName = 'Tenant',
  tokenUrl = testPlatform().tokenUrl,
): Promise<ServiceAccount> {
  const clientId = randomUUID()
  const clientSecret = randomBytes(24).toString('base64url')
  const secretName = `client-${clientId}`
  await admin.create(secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, namespace: SYSTEM_NAMESPACE },
    stringData: { 'client-secret': clientSecret },
  } as KubeObject)
  await admin.create(PlatformClient.resource, {
    apiVersion: PlatformClient.apiVersion,
    kind: 'PlatformClient',
    metadata: { name: clientId, namespace: SYSTEM_NAMESPACE },
    spec: { displayName, secretName },
  })
  return { clientId, clientSecret, token: await tokenFor(clientId, clientSecret, tokenUrl) }
}

/** An access token by the client_credentials grant (interface section 5). */
export async function tokenFor(
  clientId: string,
  clientSecret: string,
  tokenUrl = testPlatform().tokenUrl,
): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const answer = await fetch(tokenUrl, { method: 'POST', body })
  const { access_token: token } = (await answer.json()) as { access_token?: string }
  if (token === undefined) throw new Error(`No token for ${clientId}: ${answer.status}`)
  return token
}

/** Gives a service account Kubernetes' own `edit` role in a namespace, which our aggregated roles are part of. */
export async function bindEdit(admin: KubeClient, namespace: string, clientId: string): Promise<void> {
  await admin.create(roleBinding, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: `edit-${clientId}`, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `p:${clientId}` }],
  } as KubeObject)
}

/** What a test leaves of its boundary is the empty boundary: it could only go when the last group is gone. */
export async function removeGroups(client: KubeClient | undefined, boundaryId: string): Promise<void> {
  const namespace = boundaryNamespace(boundaryId)
  const { items = [] } = (await client?.list(ResourceGroup.resource, { namespace })) ?? {}
  for (const { metadata } of items) await client?.remove(ResourceGroup.resource, { namespace, name: metadata.name })
}

/** Every verb of Kubernetes on every kind of ours, but no right of an administrator. */
export async function giveEveryVerb(admin: KubeClient, principalId: string): Promise<() => Promise<unknown>> {
  const metadata = { name: `clerk-${randomUUID().slice(0, 8)}` }
  const [group, apiVersion] = ['rbac.authorization.k8s.io', 'rbac.authorization.k8s.io/v1']
  const apiGroups = [...new Set(KINDS.map(({ resource }) => resource.group))]
  const rules = [{ apiGroups, resources: ['*'], verbs: ['*'] }]
  await admin.create(clusterRole, { apiVersion, kind: 'ClusterRole', metadata, rules })
  await admin.create(clusterRoleBinding, {
    ...{ apiVersion, kind: 'ClusterRoleBinding', metadata },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ apiGroup: group, kind: 'User', name: `p:${principalId}` }],
  })
  return () => Promise.all([clusterRoleBinding, clusterRole].map((resource) => admin.remove(resource, metadata)))
}
