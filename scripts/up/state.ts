import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere, writePrivate } from '../controlplane/files.ts'
import { holderOf, tryLock } from '../controlplane/lockfile.ts'
import type { ProcessRecord } from '../controlplane/processes.ts'
import type { GatewayPorts } from '../node/addresses.ts'
import type { FirstPerson } from '../platform/owners.ts'

/** What a client on this machine needs to know: `<data>/dev.json`. It exists only while the platform is ready. */
export type DevFile = {
  facadeUrl: string
  tokenUrl: string
  realm: string
  clientId: string
  clientSecret: string
  /** Owner of everything, who can sign in with a browser. */
  person: FirstPerson
  /** Ports on 127.0.0.1 that lead to the Gateway of a real node; absent without one. */
  gateway?: GatewayPorts | undefined
  /** The image registry, as in names of images; absent if the machine cannot build it. */
  registry?: string
  /** The address of the registry on this machine. */
  registryAddress?: string
  /** Path of a kubeconfig with full rights. */
  kubeconfig: string
  kubernetes: { source: string; version: string; simulated: readonly string[] }
  /** Path of the certificate (PEM) that signs the servers of the platform. */
  certificateAuthority: string
  /** Variables that the platform runs with. */
  settings: Readonly<Record<string, string>>
}

const devFile = (folder: string) => join(folder, 'dev.json')
const supervisorFile = (folder: string) => join(folder, 'supervisor.json')

/** Names in a data folder that are ours: `--fresh` removes only these, whatever folder was named. */
const OWN_FILES = [
  'certificate-authority.crt',
  'configuration',
  'dev.json',
  'etcd',
  'freehold',
  'githost',
  'kubeconfig',
  'kubectl',
  'kubeconfigs',
  'logs',
  'mails',
  'node',
  'objectstore',
  'pki',
  'platform',
  'ports.json',
  'processes.json',
  'registry',
]

export async function forgetData(folder: string): Promise<void> {
  await Promise.all(OWN_FILES.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}

/** @throws Error if the folder has data of the other kind of pods: their volumes and nodes differ */
export async function refuseOtherPods(folder: string, isReal: boolean): Promise<void> {
  const entries = await readdir(folder).catch((): string[] => [])
  const wasReal = entries.includes('node')
  if (!entries.includes('etcd') || wasReal === isReal) return
  const was = wasReal ? 'with' : 'without'
  throw new Error(
    `The data of ${folder} is of a platform ${was} --node: name another folder with --data, or forget it with --fresh.`,
  )
}

export async function readDevFile(folder: string): Promise<DevFile | undefined> {
  const text = await readIfThere(devFile(folder))
  return text === undefined ? undefined : (JSON.parse(text) as DevFile)
}

export async function writeDevFile(folder: string, content: DevFile): Promise<void> {
  await writePrivate(devFile(folder), `${JSON.stringify(content, null, 2)}\n`)
}

/** The living `up` of a data folder. */
export async function runningSupervisor(folder: string): Promise<ProcessRecord | undefined> {
  const holder = await holderOf(supervisorFile(folder))
  return holder && { name: 'up', ...holder }
}

/**
 * Makes this process the only `up` of the folder. @returns a function that releases it, or undefined if another has it
 */
export async function becomeSupervisor(folder: string): Promise<(() => Promise<void>) | undefined> {
  const release = await tryLock(supervisorFile(folder))
  if (release === undefined) return undefined
  // Left by a killed `up`.
  await rm(devFile(folder), { force: true })
  return async () => {
    await rm(devFile(folder), { force: true })
    await release()
  }
}
