import type { DeployedCollection } from '../../../contracts/deployments.ts'
import type { ActionName } from '../../../core/actions.ts'
import { notFound } from '../../../core/errors.ts'
import { createdByOf } from '../../../core/labels.ts'
import type { AnyKind } from '../../../crds/define.ts'
import type { Context } from '../../http/context.ts'
import type { Authorization } from '../../http/route.ts'
import type { RecordOf } from '../../records/records.ts'
import { findResource, type Place, placeOf } from '../places.ts'
import { type DeployedObject, type DeploymentBody, findDeployment, type StoredDeployment } from './record.ts'

/** Whoever builds for a boundary, also with the credentials of its sources. */
export const BUILD: ActionName = 'kernel/deployments/token'

export type DeploymentRoutes = {
  /** The collection of what is deployed, as records name it. */
  collection: DeployedCollection
  /** Of action names: `apps` in `apps/read`. */
  actionPrefix: string
  parameter: string
  read: Authorization
  readLogs: Authorization
  /** Who holds it tells of every deployment. */
  write: ActionName
  /** What a new deployment is of, where that is not the resource itself. @throws PlatformError */
  ownerNameOf?: (site: string, body: DeploymentBody, context: Context) => string
  /** Refuses a deployment that is reported: where images come by the spec, or show what the caller may not see. */
  refuse: (object: DeployedObject, body: DeploymentBody, context: Context, place: Place) => void
}

/** Who tells of deployments: who may write the resource tells of all, who builds for it of those that it began. */
export type Reporter = 'Writer' | 'Builder'

export type Reported<K extends AnyKind> = {
  reporter: Reporter
  object: RecordOf<K>
  place: Place
  ref: { namespace: string; name: string }
}

const unseen = ({ name, resourceGroup }: Place, segment: string) =>
  notFound(`"${name}" of ${segment} in group "${resourceGroup}"`)

/**
 * The resource of a route that asks for nothing but a sign-in.
 *
 * @throws PlatformError NOT_FOUND, in the same words for what is missing and what the caller may not tell of
 */
export async function findReported<K extends AnyKind>(
  kind: K,
  context: Context,
  { parameter, write }: { parameter: string; write: ActionName },
): Promise<Reported<K>> {
  const place = placeOf(context, parameter)
  const scope = `/boundaries/${place.boundaryId}/resourcegroups/${place.resourceGroup}/resources/${kind.segment}/${place.name}`
  const decide = (action: ActionName) => context.services.access.explain(context.caller.principalId, action, scope)
  const writing = decide(write)
  // Who is denied to write gets no code in by building either.
  const isDenied = writing.reason === 'DeniedByAssignment'
  const reporter = writing.allowed ? 'Writer' : !isDenied && decide(BUILD).allowed ? 'Builder' : undefined
  if (reporter === undefined) throw unseen(place, kind.segment)
  return { reporter, ...(await findResource(kind, context, parameter)) }
}

/** @throws PlatformError NOT_FOUND, also for one that somebody else began */
export async function findOwnDeployment<K extends AnyKind>(
  context: Context,
  { ref, reporter }: Reported<K>,
  collection: DeployedCollection,
): Promise<StoredDeployment> {
  const found = await findDeployment(context, { ...ref, collection })
  return mayTell(found, reporter, context)
    ? found
    : Promise.reject(notFound(`Deployment "${found.metadata.name}" of "${ref.name}"`))
}

export function mayTell(
  { metadata }: StoredDeployment,
  reporter: Reporter,
  { caller }: Pick<Context, 'caller'>,
): boolean {
  return reporter === 'Writer' || createdByOf(metadata) === caller.principalId
}
