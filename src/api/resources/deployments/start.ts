import { type DeployedCollection, deploymentIdFor, newestDeployment } from '../../../contracts/deployments.ts'
import { PlatformError } from '../../../core/errors.ts'
import { DeploymentRecord } from '../../../crds/deployments.ts'
import { accepted, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { etagOf } from '../../http/etag.ts'
import type { ResourceLocation } from '../find.ts'
import { type DeployedObject, entryOf, type StoredDeployment } from './record.ts'

/** A resource with all its earlier deployments. */
export type DeployedResource = {
  readonly object: DeployedObject
  readonly location: ResourceLocation
  readonly ref: { readonly namespace: string; readonly name: string }
  readonly collection: DeployedCollection
  readonly history: readonly StoredDeployment[]
}

export function answerWith(
  { object, location }: Pick<DeployedResource, 'object' | 'location'>,
  record: StoredDeployment,
  respond = ok,
) {
  return respond(entryOf(record, object, location), { etag: etagOf(record) })
}

/** How many times an id that belongs to a deployment of another resource is skipped. */
const SKIPPED_IDS_MAX = 10

/**
 * Starts a build of `spec`, which is then served. Equal requests on the same history create the same deployment.
 *
 * @throws PlatformError ALREADY_EXISTS
 */
export async function startBuild(
  { services, caller }: Pick<Context, 'services' | 'caller'>,
  deployed: DeployedResource,
  { cause, spec }: { cause: readonly string[]; spec: object },
) {
  const { object, ref, collection, history } = deployed
  const before = newestDeployment(history)?.metadata.name ?? ''
  for (let again = 0; ; again += 1) {
    const more = again === 0 ? [] : [String(again)]
    try {
      const made = await services.records.create(DeploymentRecord, {
        namespace: ref.namespace,
        name: deploymentIdFor(object.metadata.uid ?? '', ...cause, before, ...more),
        spec: { ownerCollection: collection, ownerName: ref.name, strategy: 'Build', ...spec },
        caller,
        isSame: ({ spec: stored }: StoredDeployment) =>
          stored.ownerName === ref.name && stored.ownerCollection === collection,
      })
      return answerWith(deployed, made.object, made.isNew ? accepted : ok)
    } catch (error) {
      const isTaken = error instanceof PlatformError && error.code === 'ALREADY_EXISTS'
      if (!isTaken || again === SKIPPED_IDS_MAX) throw error
    }
  }
}
