import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere, writePrivate } from '../controlplane/files.ts'
import { identityOf } from '../controlplane/identity.ts'
import type { ProcessRecord } from '../controlplane/processes.ts'

/** What a client on this machine needs to know, `<data>/dev.json`. It is there exactly while the platform is ready. */
export type DevFile = {
  facadeUrl: string
  tokenUrl: string
  realm: string
  clientId: string
  clientSecret: string
  /** Path of a kubeconfig with full rights. */
  kubeconfig: string
  kubernetes: { source: string; version: string; simulated: readonly string[] }
  /** Path of the certificate (PEM) that signs the servers of the platform. */
  certificateAuthority: string
}

const devFile = (folder: string) => join(folder, 'dev.json')
const supervisorFile = (folder: string) => join(folder, 'supervisor.json')

/** Names in a data folder that are ours: `--fresh` removes these and nothing else, whatever folder was named. */
const OURS = [
  'certificate-authority.crt',
  'configuration',
  'dev.json',
  'etcd',
  'kubeconfig',
  'kubeconfigs',
  'logs',
  'pki',
  'platform',
  'ports.json',
  'processes.json',
]

export async function forgetData(folder: string): Promise<void> {
  await Promise.all(OURS.map((name) => rm(join(folder, name), { recursive: true, force: true })))
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
  const text = await readIfThere(supervisorFile(folder))
  // Empty for a moment between making and filling it.
  if (text === undefined || text === '') return undefined
  const record = JSON.parse(text) as ProcessRecord
  return identityOf(record.pid) === record.identity ? record : undefined
}

/** Makes this process the only `up` of the folder. @returns how to give that up, or undefined when another has it */
export async function becomeSupervisor(folder: string): Promise<(() => Promise<void>) | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await runningSupervisor(folder)) !== undefined) return undefined
  await rm(supervisorFile(folder), { force: true })
  await rm(devFile(folder), { force: true })
  try {
    const file = await open(supervisorFile(folder), 'wx', 0o600)
    await file.writeFile(JSON.stringify({ name: 'up', pid: process.pid, identity: identityOf(process.pid) }))
    await file.close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
  return async () => {
    await rm(devFile(folder), { force: true })
    await rm(supervisorFile(folder), { force: true })
  }
}
