import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildTask } from '../../../contracts/builds/pod.ts'
import type { BuildPaths } from './buildPaths.ts'

/** Returns the environment for a registry client: a configuration folder, with this part's account if it has one. */
export async function registryClientEnvironment(
  { temporary, hasEntry, entryAt }: BuildPaths,
  part: 'pull' | 'push',
): Promise<{ DOCKER_CONFIG: string }> {
  const folder = join(temporary, part)
  await mkdir(folder, { recursive: true })
  if (hasEntry(part)) await copyFile(entryAt(part), join(folder, 'config.json'))
  return { DOCKER_CONFIG: folder }
}

export const registryClientFlags = ({ isRegistryInsecure }: BuildTask['settings']) =>
  isRegistryInsecure ? ['--insecure'] : []
