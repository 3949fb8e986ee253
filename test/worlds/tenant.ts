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
import { createKubeClient, type KubeClient, type RawAnswer } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { loadKubeconfig, parseKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { patiently, pauseAfterAnswer, pauseAfterStatus, replyTo } from '../make/patience.ts'

/** Information of `scripts/test/platform.ts` about the platform that tests share. */
export type TestPlatformFile = {
  facadeUrl: string
  /** Where functions are called. */
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
  /** Where Git hosts and registries are simulated. */
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

/** @throws Error if no platform is running for the tests */
export function testPlatform(): TestPlatformFile {
  const path = process.env[PLATFORM_VARIABLE]
  if (path === undefined)
    throw new Error(`${PLATFORM_VARIABLE} is not set: run this file with \`npm run test:e2e -- <file>\`.`)
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** A client with the rights of the cluster's administrator. Must be closed. */
export async function administrator(): Promise<KubeClient> {
  const options = { fieldManager: 'test', userAgent: 'freehold-test' }
  return askingAgain(createKubeClient(loadKubeconfig(testPlatform().kubeconfig), options))
}

/**
 * The text of a kubeconfig with only a bearer token.
 *
 * @param path of a kubeconfig of a platform of the test's own
 */
export function kubeconfigWithToken(token: string, path = testPlatform().kubeconfig): string {
  const kubeconfig = load(readFileSync(path, 'utf8')) as { users: { user: object }[] }
  return dump({ ...kubeconfig, users: kubeconfig.users.map((user) => ({ ...user, user: { token } })) })
}

/** A client with only a bearer token, like a tenant's kubectl. Must be closed. */
export async function clientWithToken(token: string, path = testPlatform().kubeconfig): Promise<KubeClient> {
  const access = parseKubeconfig(kubeconfigWithToken(token, path), 'kubeconfig of a tenant')
  return askingAgain(createKubeClient(access, { fieldManager: 'tenant', userAgent: 'freehold-test-tenant' }))
}

/** Retries if the API server was slow, which the status of answers to `request` shows. */
export function askingAgain<Client extends object>(client: Client): Client {
  type Judged = { status: number; answer: unknown; error?: unknown }
  const judged = (asking: Promise<unknown>): Promise<Judged> =>
    asking.then(
      (answer) => ({ status: isRawAnswer(answer) ? answer.status : 200, answer }),
      (error: unknown) => ({ status: isKubeError(error) ? error.status : 0, answer: undefined, error }),
    )
  return new Proxy(client, {
    get(target, key) {
      const method: unknown = Reflect.get(target, key)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        const first: unknown = method.apply(target, args)
        if (!(first instanceof Promise)) return first
        let latest: Promise<Judged> | undefined
        const ask = async () => {
          const before = await latest
          if (isRawAnswer(before?.answer)) before.answer.body.destroy()
          latest = judged(before === undefined ? first : method.apply(target, args))
          return latest
        }
        return patiently(ask, ({ status }) => pauseAfterStatus(status)).then(({ answer, ...failed }) => {
          if ('error' in failed) throw failed.error
          return answer
        })
      }
    },
  })
}

function isRawAnswer(answer: unknown): answer is RawAnswer {
  return typeof (answer as Partial<RawAnswer> | undefined)?.text === 'function'
}

export type ServiceAccount = { clientId: string; clientSecret: string; token: string }

/**
 * A service account without any role, and a token of it.
 *
 * @param tokenUrl that of a test's own platform
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
  const ask = () => replyTo(fetch(tokenUrl, { method: 'POST', body }))
  const { status, text } = await patiently(ask, pauseAfterAnswer)
  const { access_token: token } = JSON.parse(text) as { access_token?: string }
  if (token === undefined) throw new Error(`No token for ${clientId}: ${status}`)
  return token
}

/** Grants a service account Kubernetes' own `edit` role in a namespace, which includes our aggregated roles. */
export async function bindEdit(admin: KubeClient, namespace: string, clientId: string): Promise<void> {
  await admin.create(roleBinding, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: `edit-${clientId}`, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `p:${clientId}` }],
  } as KubeObject)
}

/** A test leaves its boundary empty: it could only be deleted after its last group is gone. */
export async function removeGroups(client: KubeClient | undefined, boundaryId: string): Promise<void> {
  const namespace = boundaryNamespace(boundaryId)
  const { items = [] } = (await client?.list(ResourceGroup.resource, { namespace })) ?? {}
  for (const { metadata } of items) await client?.remove(ResourceGroup.resource, { namespace, name: metadata.name })
}

/** Every Kubernetes verb on every kind of ours, without an administrator's rights. */
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
