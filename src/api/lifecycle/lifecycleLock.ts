import { holdsLifecycleLock, isInstallOver, LIFECYCLE_LOCK_KEY } from '../../contracts/lifecycle.ts'
import { isRolloutOver } from '../../contracts/rollouts/states.ts'
import { PlatformError } from '../../core/errors.ts'
import { ComponentInstall } from '../../crds/lifecycle.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import type { Context } from '../http/context.ts'
import type { ChangeLock } from '../rules/changeLocks.ts'
import { listPlatformObjects, platformObjectId } from './inventory.ts'

/** Serializes installs, rollouts and scans over all replicas, so that none changes what another decides by. */
export const LIFECYCLE_LOCK: ChangeLock = { key: LIFECYCLE_LOCK_KEY, sees: [] }

/** A rollout that has not started counts too. @throws PlatformError RolloutBusy with `executionId` */
export async function refuseInRollout(context: Context): Promise<void> {
  const rollout = (await listPlatformObjects(context, RolloutExecution, true)).find(
    ({ status }) => !isRolloutOver(status?.state),
  )
  if (rollout === undefined) return
  const extras = { executionId: platformObjectId(RolloutExecution, rollout.metadata) }
  throw new PlatformError('RolloutBusy', 'A rollout has not ended: wait, or cancel it.', extras)
}

/**
 * Refuses a change while another one is in progress or queued. Must be called within LIFECYCLE_TURN.
 * @param ignored the install to ignore
 * @throws PlatformError RolloutBusy with `installId` or `executionId`
 */
export async function refuseWhileBusy(context: Context, ignored?: string): Promise<void> {
  await refuseInRollout(context)
  const isWaiting = (state: string | undefined) => !isInstallOver(state) && state !== 'Paused'
  const installs = await listPlatformObjects(context, ComponentInstall, true)
  const install = installs.find(
    ({ metadata, status }) => metadata.name !== ignored && (holdsLifecycleLock(status) || isWaiting(status?.state)),
  )
  if (install === undefined) return
  const message = `Component "${install.spec.component}" is being installed: wait until that has ended, or resume it if it is paused.`
  throw new PlatformError('RolloutBusy', message, { installId: platformObjectId(ComponentInstall, install.metadata) })
}
