import { isRolloutActive } from '../../contracts/rollouts/states.ts'
import { PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import type { Context } from '../http/context.ts'

/** A rollout writes its snapshot to the target that it started with. @throws PlatformError rollout-in-flight */
export async function refuseInRollout({ services }: Context): Promise<void> {
  const rollouts = await services.records.list(RolloutExecution, { namespace: SYSTEM_NAMESPACE }, { fresh: true })
  const running = rollouts.find(({ status }) => isRolloutActive(status?.state))
  if (running === undefined) return
  const executionId = running.metadata.name
  throw new PlatformError('rollout-in-flight', 'A rollout is running: set the target when it has ended.', {
    executionId,
  })
}
