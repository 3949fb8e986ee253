import type { Configuration } from '../../contracts/componentValues.ts'
import { INSTALL_CONFIGURATION } from '../../contracts/lifecycle.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretData } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** What people gave to components: the Secret install-configuration. Each read goes to the API server. */
export interface InstallConfiguration {
  /** Empty if nobody gave anything yet. */
  read(): Promise<Configuration>
  /** Sets entries and keeps the others. */
  put(entries: Configuration): Promise<void>
}

export function kubeInstallConfiguration(
  client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>,
): InstallConfiguration {
  const ref = { namespace: SYSTEM_NAMESPACE, name: INSTALL_CONFIGURATION }
  return {
    async read() {
      try {
        const { data = {} } = await client.get<KubeObject & { data?: Record<string, string> }>(secret, ref)
        const texts = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')])
        return Object.fromEntries(texts)
      } catch (error) {
        if (isKubeError(error, 'NotFound')) return {}
        throw error
      }
    },
    async put(entries) {
      const data = secretData(entries)
      try {
        await client.mergePatch(secret, ref, { data })
      } catch (error) {
        if (!isKubeError(error, 'NotFound')) throw error
        // It belongs to no component: what one of them leaves, the others need.
        const metadata = { ...ref, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } }
        await client.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data })
      }
    },
  }
}
