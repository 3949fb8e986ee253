import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome, stalled } from '../core/outcome.ts'
import { Boundary } from '../crds/boundaries.ts'
import { BoundaryTrust } from '../crds/rbac.ts'
import { absent } from '../kube/errors.ts'
import type { Observed, Pass, Workspace } from './engine/controller.ts'

type Trust = BoundaryTrust & KubeObject

/** Wakes trusts when one of their boundaries is deleted or re-created. */
export const TRUST_BOUNDARY_OBSERVER: Observed = {
  resource: Boundary.resource,
  relevant: ({ metadata }) => metadata.annotations?.[INCARNATION_ANNOTATION],
  keysOf: ({ metadata }, records) =>
    records
      .cache(BoundaryTrust)
      .list()
      .filter(({ spec }) => [spec.boundaryId, spec.trustedBoundaryId].includes(metadata.name))
      .map(keyOf),
}

/**
 * Deletes a trust with either of its boundaries, so that it never applies to a re-created boundary of the same id. A
 * trust that was never in force stays and says so, because Git may apply it before its boundary exists.
 */
export async function deleteWithBoundaries(pass: Pass): Promise<Outcome> {
  const { object, records, kind, log } = pass
  const { metadata, spec, status } = object as Trust
  const { boundaryId, boundaryIncarnation, trustedBoundaryId, trustedBoundaryIncarnation } = spec
  const sides = [
    { id: boundaryId, named: boundaryIncarnation },
    { id: trustedBoundaryId, named: trustedBoundaryIncarnation },
  ]
  const known = status?.incarnations ?? {}
  const incarnations: Record<string, string> = {}
  for (const { id, named } of sides) {
    const present = await findIncarnation(records, id, known[id] ?? named)
    if (known[id] !== undefined && present !== known[id]) {
      const { uid, resourceVersion } = metadata
      await records.client.remove(kind.resource, refOf(object as KubeObject), { uid, resourceVersion })
      log.info({ kind: kind.kind, boundary: id }, 'Removed, because the boundary no longer exists.')
      return done()
    }
    if (present === undefined || (named !== undefined && present !== named))
      return stalled(
        'ReferenceMissing',
        `There is no boundary ${id}${named === undefined ? '' : ' of that incarnation'}.`,
      )
    incarnations[id] = present
  }
  pass.report({ incarnations })
  return done()
}

/** Asks the API server if the cached incarnation is not the expected one, because the cache may be stale. */
async function findIncarnation(
  records: Workspace,
  id: string,
  expected: string | undefined,
): Promise<string | undefined> {
  const incarnationOf = (boundary: KubeObject | undefined) => boundary?.metadata.annotations?.[INCARNATION_ANNOTATION]
  const cached = incarnationOf(records.cache(Boundary).get(undefined, id))
  if (cached !== undefined && (expected === undefined || cached === expected)) return cached
  return incarnationOf(await records.client.get(Boundary.resource, { name: id }).catch(absent))
}
