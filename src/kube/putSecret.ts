import { MANAGED_BY, MANAGED_BY_LABEL, OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { KubeObject, OwnerReference } from '../core/object.ts'
import type { SecretData } from '../core/secretData.ts'
import { secret } from './builtin.ts'
import type { KubeClient } from './client.ts'
import { ignoreKubeAlreadyExists, isKubeError } from './errors.ts'

/** The owner of a Secret; the Secret is deleted with it. */
export type SecretOwner = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  labels: Record<string, string>
  /** Identifies the owner's Secrets in another cluster, where no owner reference can. */
  incarnation?: string | undefined
}

/** Returns the owner for Secrets that are deleted with this object. */
export function secretOwner(
  { apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>,
  { name, uid = '' }: KubeObject['metadata'],
): SecretOwner {
  return { apiVersion, kind, name, uid, labels: {} }
}

/**
 * Sets entries of a Secret and keeps the others; creates the Secret if it does not exist.
 *
 * @param owner absent for a Secret that outlives every object
 */
export async function putSecret(
  client: Pick<KubeClient, 'create' | 'mergePatch'>,
  { namespace, name }: { namespace: string; name: string },
  data: SecretData,
  owner?: SecretOwner & { isElsewhere?: boolean },
): Promise<void> {
  const patch = () => client.mergePatch(secret, { namespace, name }, { data })
  try {
    await patch()
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
    const made = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace,
        labels: { ...owner?.labels, [MANAGED_BY_LABEL]: MANAGED_BY },
        ...(owner?.incarnation !== undefined && {
          annotations: { [OWNER_INCARNATION_ANNOTATION]: owner.incarnation },
        }),
        // In another cluster the owner does not exist, so the garbage collector would delete the Secret.
        ...(owner !== undefined && owner.isElsewhere !== true && { ownerReferences: [referenceTo(owner)] }),
      },
      type: 'Opaque',
      data,
    }
    // Somebody else created it meanwhile; the later write wins.
    if ((await client.create(secret, made).catch(ignoreKubeAlreadyExists)) === undefined) await patch()
  }
}

const referenceTo = ({ apiVersion, kind, name, uid }: SecretOwner): OwnerReference => ({ apiVersion, kind, name, uid })
