import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { Boundary } from '../crds/boundaries.ts'
import { BoundaryTrust } from '../crds/rbac.ts'
import { absent } from '../kube/errors.ts'
import type { Observed, Pass } from './engine/controller.ts'

type Trust = BoundaryTrust & KubeObject

/** A boundary that goes, or comes anew, concerns the trusts that name it. */
export const BOUNDARIES_OF_TRUSTS: Observed = {
  resource: Boundary.resource,
  relevant: ({ metadata }) => metadata.annotations?.[INCARNATION_ANNOTATION],
  keysOf: ({ metadata }, records) =>
    records
      .cache<Trust>(BoundaryTrust.resource)
      .list()
      .filter(({ spec }) => [spec.boundaryId, spec.trustedBoundaryId].includes(metadata.name))
      .map(keyOf),
}

/**
 * Removes a trust with either of its boundaries: it lends nothing any more, and one that names no life would lend the
 * same in a boundary that is made anew under the id.
 */
export async function endWithBoundaries({
  object,
  records,
  kind,
  log,
}: Pick<Pass, 'object' | 'records' | 'kind' | 'log'>): Promise<Outcome> {
  const { metadata, spec } = object as Trust
  const { boundaryId, boundaryIncarnation, trustedBoundaryId, trustedBoundaryIncarnation } = spec
  const sides = [
    { name: boundaryId, life: boundaryIncarnation },
    { name: trustedBoundaryId, life: trustedBoundaryIncarnation },
  ]
  for (const { name, life } of sides) {
    if (isInLife(records.cache(Boundary.resource).get(undefined, name), life)) continue
    // The cache may be behind a boundary that has just been made.
    if (isInLife(await records.client.get(Boundary.resource, { name }).catch(absent), life)) continue
    const { uid, resourceVersion } = metadata
    await records.client.remove(kind.resource, refOf(object as KubeObject), { uid, resourceVersion })
    log.info({ kind: kind.kind, boundary: name }, 'Removed, because the boundary no longer exists.')
    return done()
  }
  return done()
}

/** A new boundary has no life yet, and becomes the one that a trust names or another. */
function isInLife(boundary: KubeObject | undefined, named: string | undefined): boolean {
  const life = boundary?.metadata.annotations?.[INCARNATION_ANNOTATION]
  return boundary !== undefined && (named === undefined || life === undefined || life === named)
}
