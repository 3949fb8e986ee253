import { cp, readFile, rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { layout } from '../../scripts/controlplane/flags.ts'
import { readProcessRecords } from '../../scripts/controlplane/processes.ts'
import { platformAccess } from '../../scripts/platform.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { OwnPlatform, type OwnPlatformOptions } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { tokenFor } from '../worlds/tenant.ts'

export type TimedReply = { status: number; headers: Headers; text: string; milliseconds: number }

/** The proxy or network between the operator and the API server. */
type Network = Pick<OwnPlatformOptions, 'wired' | 'proxied'>

/** After this time a call counts as unanswered. */
const GIVE_UP = 20_000

/** A platform with one group, whose network and control plane may fail. */
export class Scene {
  readonly own: OwnPlatform
  readonly boundaryId: string
  readonly #replicas: string[] = []
  #hasStandby = false
  #token: string
  /** The path of the group's resources. */
  readonly resources: string
  /** The namespace of the group. */
  readonly home: string

  private constructor(own: OwnPlatform, token: string, boundaryId: string) {
    this.own = own
    this.boundaryId = boundaryId
    this.#token = token
    this.resources = `/boundaries/${boundaryId}/resourcegroups/faults/resources`
    this.home = groupNamespace(boundaryId, 'faults')
  }

  static async set(environment: Record<string, string> = {}, network: Network = { wired: true }): Promise<Scene> {
    const unlimited = {
      PLATFORM_REQUESTS_PER_MINUTE: '1000000',
      PLATFORM_ANONYMOUS_REQUESTS_PER_MINUTE: '1000000',
      PLATFORM_ACCESS_TOKEN_SECONDS: '36000',
      PLATFORM_API_SERVER_TIMEOUT_SECONDS: '8',
    }
    const own = await OwnPlatform.prepare({ ...network, environment: { ...unlimited, ...environment } })
    try {
      await own.startOperator()
      const token = await newToken(own)
      const made = await ask(own.platform.facadeUrl, token, 'POST', '/boundaries', { displayName: 'Faults' })
      const scene = new Scene(own, token, (JSON.parse(made.text) as { id: string }).id)
      await scene.group('faults')
      return scene
    } catch (error) {
      await own.stop()
      throw error
    }
  }

  get token(): string {
    return this.#token
  }

  call(
    method: string,
    path: string,
    body?: object,
    origin = this.own.platform.facadeUrl,
    token = this.#token,
  ): Promise<TimedReply> {
    return ask(origin, token, method, path, body)
  }

  /** The addresses of further facades: the first, second and so on beside the operator's own. */
  async replica(index: number): Promise<string> {
    while (this.#replicas.length <= index) this.#replicas.push(await this.own.startReplica('facade'))
    return this.#replicas[index] as string
  }

  /** A further process with controllers, which leads only if the leader is lost. */
  async standby(): Promise<void> {
    if (this.#hasStandby) return
    this.#hasStandby = true
    await this.own.startReplica('controllers')
  }

  /** Kills it. */
  async endStandby(): Promise<void> {
    this.#hasStandby = false
    await this.own.endReplica('controllers')
  }

  /** Pods and engines remain as they are meanwhile. */
  async whileNothingIsPlayed<Result>(work: () => Promise<Result>): Promise<Result> {
    const records = await readProcessRecords(this.own.controlPlane.folder)
    const { pid } = records.find(({ name }) => name === 'kwok') ?? {}
    if (pid === undefined) throw new Error('KWOK does not run.')
    process.kill(pid, 'SIGSTOP')
    try {
      return await work()
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  }

  /** A further group, empty and ready. @returns the path of its resources, and its namespace */
  async group(name: string): Promise<{ path: string; home: string }> {
    const path = `/boundaries/${this.boundaryId}/resourcegroups/${name}`
    await this.call('POST', path)
    await until('the group runs', async () => (await this.call('GET', path)).text.includes('"Running"'))
    return { path: `${path}/resources`, home: groupNamespace(this.boundaryId, name) }
  }

  async renewToken(): Promise<void> {
    this.#token = await newToken(this.own)
  }

  /** `/readyz` of the operator. */
  readiness(): Promise<TimedReply> {
    return ask(`http://127.0.0.1:${this.own.ports.management}`, '', 'GET', '/readyz')
  }

  /** `/livez` of the operator. */
  alive(): Promise<TimedReply> {
    return ask(`http://127.0.0.1:${this.own.ports.management}`, '', 'GET', '/livez')
  }

  /** Megabytes that the operator has resident. */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.own.operatorPid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
  }

  /** Stops etcd, the API server and related processes, but not the operator, and restarts them afterwards. */
  withoutControlPlane(meanwhile: () => Promise<void>): Promise<void> {
    return this.own.controlPlane.restart(platformAccess(this.own.ports), meanwhile)
  }

  backUp(): Promise<void> {
    const { etcdData } = layout(this.own.controlPlane.folder)
    return this.withoutControlPlane(() => cp(etcdData, `${etcdData}-backup`, { recursive: true }))
  }

  restore(): Promise<void> {
    const { etcdData } = layout(this.own.controlPlane.folder)
    return this.withoutControlPlane(async () => {
      await rm(etcdData, { recursive: true })
      await cp(`${etcdData}-backup`, etcdData, { recursive: true })
    })
  }

  stop(): Promise<void> {
    return this.own.stop()
  }
}

function newToken({ platform }: OwnPlatform): Promise<string> {
  const { clientId, clientSecret, tokenUrl } = platform
  return until('a token', () => tokenFor(clientId, clientSecret, tokenUrl))
}

/** Status 0: no answer. */
async function ask(origin: string, token: string, method: string, path: string, body?: object): Promise<TimedReply> {
  const began = performance.now()
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const signal = AbortSignal.timeout(GIVE_UP)
  const text = body === undefined ? null : JSON.stringify(body)
  try {
    const answer = await fetch(origin + path, { method, headers, signal, body: text })
    const content = await answer.text()
    return { status: answer.status, headers: answer.headers, text: content, milliseconds: performance.now() - began }
  } catch (error) {
    return { status: 0, headers: new Headers(), text: String(error), milliseconds: performance.now() - began }
  }
}

/** Calls once a second, for a number of seconds. */
export async function everySecond(seconds: number, work: (second: number) => Promise<void>): Promise<void> {
  const began = performance.now()
  for (let second = 0; performance.now() - began < seconds * 1000; second += 1) {
    await work(second)
    await delay(Math.max(0, (second + 1) * 1000 - (performance.now() - began)))
  }
}
