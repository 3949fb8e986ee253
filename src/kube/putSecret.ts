import { MANAGED_BY, MANAGED_BY_LABEL } from '../core/labels.ts'
import { secret } from './builtin.ts'
import type { KubeClient } from './client.ts'
import { isKubeError } from './errors.ts'

/** The owner of a Secret, which is deleted with it. */
export type SecretOwner = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  labels: Record<string, string>
}

/** Sets entries of a Secret and keeps the others; makes it if there is none. @param data in base64 */
export async function putSecret(
  client: Pick<KubeClient, 'create' | 'mergePatch'>,
  { namespace, name }: { namespace: string; name: string },
  data: Readonly<Record<string, string>>,
  { labels, ...reference }: SecretOwner,
): Promise<void> {
  try {
    await client.mergePatch(secret, { namespace, name }, { data })
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
    await client.create(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace,
        labels: { ...labels, [MANAGED_BY_LABEL]: MANAGED_BY },
        ownerReferences: [reference],
      },
      type: 'Opaque',
      data,
    })
  }
}
