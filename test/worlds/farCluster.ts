import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { readManifests } from '../../scripts/platform/manifests.ts'
import type { statefulSet } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { type OwnControlPlane, startOwnControlPlane } from '../cluster/index.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { TEST_CONFIG } from '../config.ts'
import { endedBy } from '../make/ownProcess.ts'
import { until } from '../make/until.ts'
import { callOwn, ownerTokenOf } from './ownFacade.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy/agent')

export type Cluster = {
  id: string
  status: string
  projectionCount: number
  resourceCount: number
  nodeCount: number | null
}
export type Token = { token: string; serverUrl: string; caFingerprint: string }
type Shown = { status: string; phase: string; statusMessage: string }

export const settingsOf = ({ token, serverUrl, caFingerprint }: Token) => ({
  PLATFORM_AGENT_HUB: serverUrl,
  PLATFORM_AGENT_FINGERPRINT: caFingerprint,
  PLATFORM_AGENT_TOKEN: token,
})

/** A platform, and next to it a control plane with an agent that connects to it. */
export class FarCluster {
  readonly own: OwnPlatform
  /** With all rights over there. */
  readonly client: KubeClient
  readonly #spoke: OwnControlPlane
  #agent: ChildProcess | undefined
  /** The agent's latest join parameters. */
  joined: Record<string, string> = {}
  /** Whether the agent's tunnel is open. */
  probes = ''
  /** Once it is registered. */
  clusterId = ''
  /** The boundary that is projected on it. */
  boundaryId = ''
  /** The namespace of its group `shop`, with the same name here and there. */
  home = ''

  private constructor(own: OwnPlatform, spoke: OwnControlPlane, client: KubeClient) {
    this.own = own
    this.#spoke = spoke
    this.client = client
  }

  static async start(own: OwnPlatform): Promise<FarCluster> {
    const spoke = await startOwnControlPlane({ nodes: 1 })
    const client = createKubeClient(loadKubeconfig(spoke.kubeconfigPath), { fieldManager: 'test', userAgent: 'test' })
    await installManifests(
      client,
      ['namespace.yaml', 'rbac.yaml', 'policies.yaml'].flatMap((name) => readManifests(join(DEPLOY, name))),
    )
    return new FarCluster(own, spoke, client)
  }

  async stop(): Promise<void> {
    await this.endAgent('SIGTERM')
    await this.client.close()
    await this.#spoke.stop()
  }

  readonly resource = (path: string): string => `/boundaries/${this.boundaryId}/resourcegroups/shop/resources/${path}`
  readonly vector = (): string => this.resource('vectorclusters/search')

  readonly call = async <Body>(status: number, method: string, path: string, body?: object): Promise<Body> => {
    const answer = await callOwn<Body>(this.own, method, path, body)
    if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
    return answer.body
  }

  readonly request = async (method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> => {
    const token = await ownerTokenOf(this.own)
    return fetch(`http://127.0.0.1:${this.own.ports.facade}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  }

  /** The rights of the account in the agent's manifest. */
  get agentKubeconfig(): string {
    return join(this.#spoke.folder, 'agent-kubeconfig')
  }

  /** The agent as a Deployment would run it, with the account in its manifest. */
  async startAgent(settings: Record<string, string>): Promise<void> {
    const { own } = this
    const user = await this.#spoke.issueClientCertificate(
      'system:serviceaccount:freehold-system:freehold-controllers',
      ['system:serviceaccounts', 'system:serviceaccounts:freehold-system', 'system:authenticated'],
    )
    await this.#spoke.writeKubeconfig(this.agentKubeconfig, { name: 'agent', user })
    const { management = 0 } = await choosePorts(this.#spoke.folder, ['management'])
    this.probes = `http://127.0.0.1:${management}/readyz`
    this.joined = settings
    const log = openSync(join(own.controlPlane.folder, 'logs', 'agent.log'), 'a')
    const { program, args, environment } = own.command
    const { PATH = '', HOME = '' } = environment
    this.#agent = spawn(program, args, {
      stdio: ['ignore', log, log],
      env: {
        PATH,
        HOME,
        ...TEST_CONFIG.compiled,
        PLATFORM_ROLE: 'agent',
        PLATFORM_KUBECONFIG: this.agentKubeconfig,
        PLATFORM_MANAGEMENT_HOST: '127.0.0.1',
        PLATFORM_MANAGEMENT_PORT: String(management),
        ...settings,
      },
    })
    closeSync(log)
  }

  async endAgent(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = this.#agent
    this.#agent = undefined
    if (ending !== undefined) await endedBy(ending, signal)
  }

  readonly cluster = (): Promise<Cluster> => this.call<Cluster>(200, 'GET', `/clusters/${this.clusterId}`)

  untilCluster(status: string): Promise<Cluster> {
    return until(`the cluster is ${status}`, async () => {
      const found = await this.cluster()
      if (found.status === status) return found
      throw new Error(JSON.stringify(found))
    })
  }

  readonly untilRunning = (replicas: number) =>
    until(`the database runs with ${replicas} peers`, async () => {
      const found = await this.call<Shown & { readyReplicas: number }>(200, 'GET', this.vector())
      if (found.status === 'Running' && found.readyReplicas === replicas) return found
      throw new Error(`${found.status} ${found.phase} ${found.readyReplicas}: ${found.statusMessage}`)
    })

  readonly untilIt = (path: string, what: string, isSo: (shown: Shown) => boolean) =>
    until(`${path} ${what}`, async () => {
      const found = await this.call<Shown>(200, 'GET', path)
      if (isSo(found)) return found
      throw new Error(JSON.stringify(found))
    })
}

export async function exists(client: KubeClient, resource: typeof statefulSet, name: string, namespace?: string) {
  try {
    await client.get(resource, { namespace, name })
    return true
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return false
    throw error
  }
}
