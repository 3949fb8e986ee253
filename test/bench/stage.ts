import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { load as parseYaml } from 'js-yaml'
import { OwnPlatform, type OwnPlatformOptions } from '../cluster/platform.ts'
import { type Fleet, makeFleet, untilFleetIsReady } from '../worlds/fleet.ts'
import { tokenFor } from '../worlds/tenant.ts'
import type { Arm } from './load.ts'

/** A platform with databases, and two ways to read them. */
export type Stage = { own: OwnPlatform; fleet: Fleet; ours: Arm; raw: Arm; stop(): Promise<void> }

type Kubeconfig = {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[]
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[]
}

const text = (base64: string) => Buffer.from(base64, 'base64').toString()

/** About 2 KB of JSON per object: fifty tags stand for real content. */
export const SPEC = {
  running: false,
  tags: Object.fromEntries(Array.from({ length: 24 }, (_, index) => [`label-${index}`, 'x'.repeat(48)])),
}

/** For measured platforms: no deliberate delays, and tokens that outlive the longest benchmark. */
export const UNLIMITED = {
  PLATFORM_REQUESTS_PER_MINUTE: '100000000',
  PLATFORM_ANSWER_BYTES_PER_SECOND: '100000000000',
  PLATFORM_ACCESS_TOKEN_SECONDS: '86400',
  PLATFORM_LOG_LEVEL: 'warn',
}

/** @param databases created stopped, so that none of their pods uses the machine */
export async function setStage(databases: number, options: OwnPlatformOptions = {}): Promise<Stage> {
  const own = await OwnPlatform.prepare({ ...options, environment: { ...UNLIMITED, ...options.environment } })
  try {
    await own.startOperator()
    const fleet = await makeFleet(own.admin, { groups: 1, databases, spec: SPEC })
    await untilFleetIsReady(own.admin, fleet, 1_800_000)
    return { own, fleet, ...(await arms(own)), stop: () => own.stop() }
  } catch (error) {
    await own.stop()
    throw error
  }
}

async function arms(own: OwnPlatform): Promise<{ ours: Arm; raw: Arm }> {
  const { clusters, users } = parseYaml(readFileSync(own.controlPlane.kubeconfigPath, 'utf8')) as Kubeconfig
  const [cluster, user] = [clusters[0]?.cluster, users[0]?.user]
  if (cluster === undefined || user === undefined) throw new Error('The kubeconfig names no cluster.')
  const { clientId, clientSecret, tokenUrl } = own.platform
  const token = await tokenFor(clientId, clientSecret, tokenUrl)
  return {
    ours: { name: 'facade', origin: own.platform.facadeUrl, paths: [], headers: { authorization: `Bearer ${token}` } },
    raw: {
      name: 'kube-apiserver',
      origin: cluster.server,
      paths: [],
      headers: { accept: 'application/json' },
      ca: text(cluster['certificate-authority-data']),
      clientCertificate: { cert: text(user['client-certificate-data']), key: text(user['client-key-data']) },
    },
  }
}

/** Information about the machine that every result includes. */
export function circumstances({ own }: Pick<Stage, 'own'>): object {
  return { kubernetes: own.controlPlane.version, ...machine() }
}

/** `load`: the average of the last minute. */
export function machine(): object {
  const [load = 0] = loadavg()
  return { node: process.version, cores: navigator.hardwareConcurrency, load: Math.round(load * 10) / 10 }
}
