import { isFinalPhase } from '../../../contracts/deployments.ts'
import { notFound } from '../../../core/errors.ts'
import { refOf } from '../../../core/object.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { DeploymentRecord, deploymentPhaseOf } from '../../../crds/deployments.ts'
import { type RouteDraft, route } from '../../http/route.ts'
import { findResource } from '../find.ts'
import { nowOf } from '../nowOf.ts'
import {
  type DeployedObject,
  DeploymentLogEntryDto,
  findDeployment,
  invalidDeploymentState,
  type StoredDeployment,
} from './record.ts'
import type { DeploymentRoutes } from './reporters.ts'
import { answerWith } from './start.ts'

/** `DELETE <path>/{deploymentId}`: cancels a deployment that waits or is being built. A retry gets the same answer. */
export function cancelRoute<K extends AnyKind>(
  kind: K,
  path: string,
  { collection, parameter, cancel }: Pick<DeploymentRoutes, 'collection' | 'parameter' | 'cancel'>,
): RouteDraft {
  return route('DELETE', `${path}/{deploymentId}` as string, {
    auth: cancel,
    summary: 'Cancels a deployment that waits or is being built; what is served stays',
    reply: DeploymentLogEntryDto,
    handler: async (context) => {
      const { services, caller, ifMatch } = context
      const { object, location, ref } = await findResource(kind, context, parameter)
      const found = await findDeployment(context, { ...ref, collection })
      const cancelled = await services.records.update(DeploymentRecord, refOf(found), {
        caller,
        ifMatch,
        change: (stored) => {
          if (stored.metadata.deletionTimestamp !== undefined) throw notFound(`Deployment "${stored.metadata.name}"`)
          if (deploymentPhaseOf(stored) === 'Cancelled') return stored.spec
          refuseBuilt(stored)
          return { ...stored.spec, cancelledAt: nowOf(context) }
        },
      })
      return answerWith({ object: object as DeployedObject, location }, cancelled.object)
    },
  })
}

/** @throws PlatformError INVALID_STATE */
function refuseBuilt(stored: StoredDeployment): void {
  const phase = deploymentPhaseOf(stored)
  const refuse = (why: string) => {
    throw invalidDeploymentState(stored, `The deployment ${why}: there is nothing to cancel.`)
  }
  if (isFinalPhase(phase)) refuse(`has ended (${phase})`)
  if (phase === 'Deploying') refuse('is built already')
  if (stored.spec.strategy === 'Image') refuse('has no build')
}
