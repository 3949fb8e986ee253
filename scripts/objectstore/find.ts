import type { Progress } from '../controlplane/progress.ts'
import { findTool, lockedVersion, type Tool } from '../controlplane/tool.ts'

const STORE: Tool = { folder: 'versitygw', package: '.', name: 'versitygw' }

/**
 * The program of the object store. Undefined, and said so, if there is no Go that could build it: everything else of the
 * platform runs without.
 *
 * @throws Error if the build fails
 */
export async function findObjectStore(
  progress: Progress,
  signal: AbortSignal,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const found = await findTool(STORE, { progress, signal, environment })
  if ('program' in found) return found.program
  progress.note(`No object store: it is built with Go ${found.needsGo} or newer, which is not on the PATH`)
  return undefined
}

/** The version that the lock names. */
export async function objectStoreVersion(): Promise<string> {
  return lockedVersion(STORE, 'github.com/versity/versitygw')
}
