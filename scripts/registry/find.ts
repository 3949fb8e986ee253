import { CONTROL_PLANE } from '../controlplane/modules.ts'
import type { Progress } from '../controlplane/progress.ts'
import { findTool, type Tool } from '../controlplane/tool.ts'

/** Distribution without the storage of clouds, whose libraries take minutes to compile. It shares the rest with etcd. */
export const REGISTRY_TOOL = {
  folder: CONTROL_PLANE,
  package: './registry',
  name: 'registry',
} as const satisfies Tool

/**
 * The program of the registry. Undefined, and said so, if there is no Go that could build it: everything else of the
 * platform runs without.
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
