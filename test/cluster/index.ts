import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AccessOptions,
  attachControlPlane,
  type ControlPlane,
  type ControlPlaneReference,
  type StartOptions,
  startControlPlane,
} from '../../scripts/controlplane/index.ts'

/** Names a file with a `ControlPlaneReference`: test processes that run side by side then share one control plane. */
export const SHARED_CLUSTER_VARIABLE = 'FREEHOLD_TEST_CLUSTER'

export type TestControlPlane = ControlPlane & { folder: string }

/** One that no other test uses. */
export type OwnControlPlane = TestControlPlane & {
  /** Stops every process, lets `between` work on the folder, and starts again at the same addresses. */
  restart(access: AccessOptions, between: () => Promise<void>): Promise<void>
}

/**
 * A real control plane for tests: the shared one if there is one (give objects names of your own there; `stop`
 * leaves it alone), else one of your own in a temporary folder that `stop` removes. Takes about 4 s.
 */
export async function startTestControlPlane(options: Omit<StartOptions, 'folder'> = {}): Promise<TestControlPlane> {
  const shared = process.env[SHARED_CLUSTER_VARIABLE]
  if (shared !== undefined && shared !== '') {
    const reference = JSON.parse(await readFile(shared, 'utf8')) as ControlPlaneReference
    return { ...(await attachControlPlane(reference)), folder: reference.folder }
  }
  return startOwnControlPlane(options)
}

/**
 * A separate one even if a shared one exists, for tests of the control plane itself and for the shared platform.
 *
 * @param before works on the new folder before the first start
 */
export async function startOwnControlPlane(
  options: Omit<StartOptions, 'folder'> = {},
  before?: (folder: string) => Promise<void>,
): Promise<OwnControlPlane> {
  const folder = await mkdtemp(join(tmpdir(), 'freehold-test-'))
  const start = (access: AccessOptions) => startControlPlane({ durable: false, ...options, ...access, folder })
  try {
    await before?.(folder)
    const controlPlane = await start({})
    let { stop: stopRunning } = controlPlane
    const restart = async (access: AccessOptions, between: () => Promise<void>) => {
      await stopRunning()
      await between()
      stopRunning = (await start(access)).stop
    }
    const stop = async () => {
      await stopRunning()
      await rm(folder, { recursive: true, force: true })
    }
    return { ...controlPlane, folder, restart, stop }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}
