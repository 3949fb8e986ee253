import { z } from 'zod'
import { boundaryOfNamespace, groupNamespace, isResourceName } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { boundaryScope, groupScope } from '../callers/visibility.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { Uuid } from './dto.ts'

export const NamespaceOwnerDto = namedRecord('NamespaceOwnerDto', {
  namespace: z.string(),
  boundaryId: Uuid,
  boundary: z.string(),
  resourceGroup: z.string().nullable().describe("Null for the boundary's own namespace"),
  clusterId: Uuid,
  scope: z.string(),
})

export type NamespaceOwner = {
  readonly boundaryId: string
  readonly resourceGroup: string | null
  readonly scope: string
}

/** The suffix after the group's name: a hyphen and the first ten hex digits of a hash. */
const SUFFIX_LENGTH = 11

/** Returns the owner of a namespace; undefined if it is not one of the platform's. */
export function ownerOfNamespace(
  { records }: Pick<Services, 'records'>,
  namespace: string,
): NamespaceOwner | undefined {
  const ofBoundary = boundaryOfNamespace(namespace)
  if (ofBoundary !== undefined && records.peek(Boundary, { name: ofBoundary }) !== undefined) {
    return { boundaryId: ofBoundary, resourceGroup: null, scope: boundaryScope(ofBoundary) }
  }
  const name = namespace.slice(0, -SUFFIX_LENGTH)
  if (!isResourceName(name)) return undefined
  // The hash cannot be reversed, so it is computed for each boundary that has a group of this name.
  for (const { metadata } of records.peekAll(ResourceGroup)) {
    if (metadata.name !== name) continue
    const boundaryId = boundaryOfNamespace(metadata.namespace ?? '')
    if (boundaryId !== undefined && groupNamespace(boundaryId, name) === namespace) {
      return { boundaryId, resourceGroup: name, scope: groupScope(boundaryId, name) }
    }
  }
  return undefined
}
