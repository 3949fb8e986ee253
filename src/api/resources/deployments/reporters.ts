import type { DeployedCollection } from '../../../contracts/deployments.ts'
import type { ActionName } from '../../../core/actions.ts'
import { notFound } from '../../../core/errors.ts'
import { createdByOf } from '../../../core/labels.ts'
import type { AnyKind } from '../../../crds/define.ts'
import { holdsNow } from '../../callers/holdsNow.ts'
import { resourceScope } from '../../callers/visibility.ts'
import type { Context } from '../../http/context.ts'
import { type Authorization, checkedByHandler } from '../../http/route.ts'
import type { RecordOf } from '../../records/records.ts'
import { findResource, locationOf, type ResourceLocation } from '../find.ts'
import { type DeployedObject, type DeploymentBody, findDeployment, type StoredDeployment } from './record.ts'

/** The permission of builders for a boundary, also for the credentials of its sources. */
export const BUILD_ACTION: ActionName = 'kernel/deployments/token'

export type DeploymentRoutes = {
  /** The collection of the deployed resource, as in records. */
  collection: DeployedCollection
  parameter: string
  read: Authorization
  readLogs: Authorization
  /** Its holders may report on every deployment. */
  write: ActionName
  /** Who may cancel a deployment. */
  cancel: Authorization
  /** Further fields of the example. */
  example?: Partial<DeploymentBody>
  /** Returns the owner of a new deployment, if that is not the resource itself. @throws PlatformError */
  ownerNameOf?: (site: string, body: DeploymentBody, context: Context) => Promise<string>
  /** Refuses a reported deployment if the spec names the image, or the image would see what the caller may not. */
  refuse: (
    object: DeployedObject,
    body: DeploymentBody,
    context: Context,
    location: ResourceLocation,
  ) => void | Promise<void>
  /** Further fields of a deployment whose image the caller reports. */
  stampOf?: (context: Context, location: ResourceLocation) => Partial<StoredDeployment['spec']>
}

/** Who reports: whoever may write the resource reports on all its deployments, a builder on those that it started. */
export type Reporter = 'Writer' | 'Builder'

export type ReportedResource<K extends AnyKind> = {
  reporter: Reporter
  object: RecordOf<K>
  location: ResourceLocation
  ref: { namespace: string; name: string }
}

/** Declares the authorization of routes that call `findReported`. */
export const reporterAuth = ({ write }: { write: ActionName }): Authorization =>
  checkedByHandler(
    `the action \`${write}\` at the resource, or \`${BUILD_ACTION}\` there for what the caller started itself`,
  )

const resourceNotFound = ({ name, resourceGroup }: ResourceLocation, segment: string) =>
  notFound(`"${name}" of ${segment} in group "${resourceGroup}"`)

/**
 * Finds the resource of a route that needs only a sign-in.
 *
 * @throws PlatformError NOT_FOUND, in the same words for a missing resource and one that the caller may not report on
 */
export async function findReported<K extends AnyKind>(
  kind: K,
  context: Context,
  { parameter, write }: { parameter: string; write: ActionName },
): Promise<ReportedResource<K>> {
  const location = locationOf(context, parameter)
  const scope = resourceScope(location.boundaryId, location.resourceGroup, kind.segment, location.name)
  const reporter = await reporterNow(context, scope, write)
  if (reporter === undefined) throw resourceNotFound(location, kind.segment)
  return { reporter, ...(await findResource(kind, context, parameter)) }
}

/** Returns whether the caller may write at the scope, or build there; also by a right that was just granted. */
export async function reporterNow(asking: Asking, scope: string, write: ActionName): Promise<Reporter | undefined> {
  const now = () => reporterAt(asking, scope, write)
  await holdsNow(asking.services.access, asking.caller.principalId, scope, () => now() !== undefined)
  return now()
}

type Asking = Pick<Context, 'services' | 'caller'>

function reporterAt({ services, caller }: Asking, scope: string, write: ActionName): Reporter | undefined {
  const decide = (action: ActionName) => services.access.explain(caller.principalId, action, scope)
  const writing = decide(write)
  if (writing.allowed) return 'Writer'
  // A caller who is denied to write must not bring code in by building either.
  return writing.reason !== 'DeniedByAssignment' && decide(BUILD_ACTION).allowed ? 'Builder' : undefined
}

/** @throws PlatformError NOT_FOUND, also for a deployment that somebody else started */
export async function findOwnDeployment<K extends AnyKind>(
  context: Context,
  { ref, reporter }: ReportedResource<K>,
  collection: DeployedCollection,
): Promise<StoredDeployment> {
  const found = await findDeployment(context, { ...ref, collection })
  return mayReport(found, reporter, context)
    ? found
    : Promise.reject(notFound(`Deployment "${found.metadata.name}" of "${ref.name}"`))
}

export function mayReport(
  { metadata }: StoredDeployment,
  reporter: Reporter,
  { caller }: Pick<Context, 'caller'>,
): boolean {
  return reporter === 'Writer' || createdByOf(metadata) === caller.principalId
}
