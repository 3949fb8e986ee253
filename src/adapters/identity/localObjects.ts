import { absent, kubeFailureOf } from '../../core/kubeFailure.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { apiVersionOf, type KubeObject, type ObjectRef, type Resource } from '../../core/object.ts'
import type { KubeClient } from '../../kube/client.ts'
import { IdentityProviderError } from './port.ts'

/** The objects in which the local identity provider stores its state. */
export type LocalObjects = {
  client: Pick<KubeClient, 'get' | 'list' | 'create' | 'mergePatch' | 'remove'>
  resources: { user: Resource; secret: Resource }
}

export const namespace = SYSTEM_NAMESPACE
export const metadataOf = (name: string) => ({ namespace, name, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } })

export async function readByUuid<T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: string,
): Promise<T | undefined> {
  return isUuid(name) ? readByName<T>(client, resource, name) : undefined
}

export async function readByName<T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: string,
): Promise<T | undefined> {
  const ref: ObjectRef = { namespace, name }
  const found = await client.get<T>(resource, ref).catch(absent)
  return found?.metadata.deletionTimestamp === undefined ? found : undefined
}

export async function putSecret(
  { client, resources }: LocalObjects,
  metadata: KubeObject['metadata'],
  data: Record<string, string>,
): Promise<void> {
  try {
    const secret = { ...typeMetaOf(resources.secret), metadata, type: 'Opaque', data }
    await client.create<KubeObject>(resources.secret, secret as KubeObject)
  } catch (error) {
    if (kubeFailureOf(error)?.reason !== 'AlreadyExists') throw error
    await client.mergePatch(resources.secret, { namespace, name: metadata.name }, { data })
  }
}

export function typeMetaOf(resource: Resource): { apiVersion: string; kind: string } {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind }
}

export function requireUserFound<T>(found: T | undefined): T {
  if (found === undefined) throw new IdentityProviderError('NotFound', 'There is no such user.')
  return found
}
