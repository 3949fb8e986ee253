import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { type KubeObject, keyOf, refOf } from '../core/object.ts'
import { done, type Outcome, stalled } from '../core/outcome.ts'
import { Boundary } from '../crds/boundaries.ts'
import { BoundaryTrust } from '../crds/rbac.ts'
import { absent } from '../kube/errors.ts'
import type { Observed, Pass, Workspace } from './engine/controller.ts'

type Trust = BoundaryTrust & KubeObject

/** A boundary that goes, or comes anew, concerns the trusts that name it. */
export const BOUNDARIES_OF_TRUSTS: Observed = {
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
 * Removes a trust with either of the boundaries that it was in force between, so that it is not in force in one that is made
 * anew under the id. Of what never was it says so, and leaves it: Git may know it before the boundary, or for longer.
 */
export async function endWithBoundaries(pass: Pass): Promise<Outcome> {
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
    const present = await lifeOf(records, id, known[id] ?? named)
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

/** As the API server says where the cache has another one than is expected: it may be behind. */
async function lifeOf(records: Workspace, id: string, expected: string | undefined): Promise<string | undefined> {
  const life = (boundary: KubeObject | undefined) => boundary?.metadata.annotations?.[INCARNATION_ANNOTATION]
  const cached = life(records.cache(Boundary).get(undefined, id))
  if (cached !== undefined && (expected === undefined || cached === expected)) return cached
  return life(await records.client.get(Boundary.resource, { name: id }).catch(absent))
}
