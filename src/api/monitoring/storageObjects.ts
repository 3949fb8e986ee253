import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { parseForeignQuantity } from '../../core/quantity.ts'
import { KINDS } from '../../crds/index.ts'
import type { Services } from '../http/context.ts'
import { type NamespaceOwner, ownerOfNamespace } from '../resources/namespaceOwner.ts'

type Amounts = { storage?: string }
export type Claim = KubeObject & {
  spec?: { storageClassName?: string; volumeName?: string; resources?: { requests?: Amounts } }
  status?: { phase?: string; capacity?: Amounts }
}
export type Volume = KubeObject & {
  spec?: {
    storageClassName?: string
    capacity?: Amounts
    persistentVolumeReclaimPolicy?: string
    accessModes?: string[]
    claimRef?: { namespace?: string; name?: string; uid?: string }
  }
  status?: { phase?: string }
}

/** Returns 0 for text that is not a quantity. */
export const parseQuantityBytes = (text: string | undefined) => Number(parseForeignQuantity(text) / 1000n)

export type ClaimOwner = {
  boundaryId: string | null
  resourceGroup: string | null
  collection: string | null
  resourceName: string | null
}
export const NO_OWNER: ClaimOwner = { boundaryId: null, resourceGroup: null, collection: null, resourceName: null }

const KIND_BY_NAME = new Map(KINDS.map((kind) => [kind.kind, kind]))

/** Returns a finder for owners of claims: the namespace, which is cached, gives the group, labels the resource. */
export function ownerFinder(
  services: Pick<Services, 'records'>,
): (namespace: string, claim: Claim | undefined) => ClaimOwner {
  const known = new Map<string, NamespaceOwner | undefined>()
  return (namespace, claim) => {
    if (!known.has(namespace)) known.set(namespace, ownerOfNamespace(services, namespace))
    const location = known.get(namespace)
    if (location === undefined) return NO_OWNER
    const { boundaryId, resourceGroup } = location
    const labels = claim?.metadata.labels ?? {}
    const kind = KIND_BY_NAME.get(labels[OWNER_KIND_LABEL] ?? '')
    return {
      boundaryId,
      resourceGroup,
      collection: kind?.segment ?? null,
      resourceName: kind === undefined ? null : (labels[OWNER_NAME_LABEL] ?? null),
    }
  }
}

/** Returns whether the resource that owns a claim exists; true for claims without an owner. */
export function hasOwner({ records }: Pick<Services, 'records'>, claim: Claim): boolean {
  const { namespace, labels = {} } = claim.metadata
  const kind = KIND_BY_NAME.get(labels[OWNER_KIND_LABEL] ?? '')
  const name = labels[OWNER_NAME_LABEL]
  return kind === undefined || name === undefined || records.peek(kind, { namespace, name }) !== undefined
}
