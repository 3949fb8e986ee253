import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SqlServer } from '../cluster/sqlServers.ts'
import { testPlatform } from '../worlds/tenant.ts'
import { until } from './until.ts'

/** Registers a real engine with the platform under a name of the cluster, although pods are simulated. */
export async function announce(hostInCluster: string, { target }: Pick<SqlServer, 'target'>): Promise<void> {
  const { host, port, user, password, certificateAuthority } = target
  await tell(hostInCluster, { host, port, user, password, certificateAuthority })
}

/** Sets the version that a simulated engine reports. */
export async function announceEdition(hostInCluster: string, edition: string): Promise<void> {
  await tell(hostInCluster, { edition })
}

async function tell(hostInCluster: string, engine: object): Promise<void> {
  const path = join(testPlatform().folder, 'platform', 'engines.json')
  const lock = `${path}.lock`
  // Test files run concurrently, and all change this one file.
  await until('the file of engines is free', async () => {
    await writeFile(lock, '', { flag: 'wx' })
    return true
  })
  try {
    const known = await readFile(path, 'utf8').then(
      (text) => JSON.parse(text) as object,
      () => ({}),
    )
    await writeFile(`${path}.new`, JSON.stringify({ ...known, [hostInCluster]: engine }))
    await rename(`${path}.new`, path)
  } finally {
    await rm(lock)
  }
}
