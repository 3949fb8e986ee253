import { randomUUID } from 'node:crypto'
import { SSO_SECRET_KEY } from '../../contracts/sso.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject, ObjectMeta } from '../../core/object.ts'
import { type SecretData, secretData } from '../../core/secretData.ts'
import { SsoConnection } from '../../crds/sso.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'

/** Client secrets of external identity providers, each in its own Secret, which the record names. */
export interface SsoSecrets {
  /** Creates a Secret owned by the connection, and returns its name. The old one stays until the record names it. */
  write(owner: { metadata: ObjectMeta }, clientSecret: string): Promise<string>
  remove(name: string): Promise<void>
}

export function kubeSsoSecrets(client: Pick<KubeClient, 'create' | 'remove'>): SsoSecrets {
  return {
    async write({ metadata }, clientSecret) {
      const name = `sso-${randomUUID()}`
      const { apiVersion, kind } = SsoConnection
      const object: KubeObject & { data: SecretData; type: string } = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          namespace: SYSTEM_NAMESPACE,
          name,
          labels: { [MANAGED_BY_LABEL]: MANAGED_BY },
          // Garbage-collected with the connection, whoever deletes that.
          ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }],
        },
        type: 'Opaque',
        data: secretData({ [SSO_SECRET_KEY]: clientSecret }),
      }
      await client.create(secret, object)
      return name
    },
    async remove(name) {
      await client.remove(secret, { namespace: SYSTEM_NAMESPACE, name })
    },
  }
}
