import { CONTROL_PLANE } from '../controlplane/modules.ts'
import type { Progress } from '../controlplane/progress.ts'
import { findTool, type Tool } from '../controlplane/tool.ts'

/**
 * Distribution without cloud storage drivers, whose libraries take minutes to compile. It shares the rest with etcd.
 */
export const REGISTRY_TOOL = {
  folder: CONTROL_PLANE,
  package: './registry',
  name: 'registry',
} as const satisfies Tool

/**
 * The program of the registry. Undefined, with a message, if there is no Go to build it: the rest of the platform runs
 * without it.
 *
 * @throws Error if the build fails
 */
export async function findRegistry(
  progress: Progress,
  signal: AbortSignal,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const found = await findTool(REGISTRY_TOOL, { progress, signal, environment })
  if ('program' in found) return found.program
  progress.note(`No registry: it is built with Go ${found.needsGo} or newer, which is not on the PATH`)
  return undefined
}
