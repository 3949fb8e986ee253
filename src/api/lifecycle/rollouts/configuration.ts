import { INSTALL_CONFIGURATION } from '../../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../../core/names.ts'
import type { KubeObject } from '../../../core/object.ts'
import { secretData } from '../../../core/secretData.ts'
import { secret } from '../../../kube/builtin.ts'
import type { KubeClient } from '../../../kube/client.ts'
import { isKubeError } from '../../../kube/errors.ts'

/** The Secret install-configuration, at a version. Each read goes to the API server. */
export interface RolloutConfiguration {
  /** Undefined if there is none. Entries as text. */
  read(): Promise<{ version: string; entries: Readonly<Record<string, string>> } | undefined>
  /** Sets one entry. @returns false if it is not of that version any more */
  replace(key: string, value: string, version: string): Promise<boolean>
}

export function kubeConfiguration(client: Pick<KubeClient, 'get' | 'mergePatch'>): RolloutConfiguration {
  const ref = { namespace: SYSTEM_NAMESPACE, name: INSTALL_CONFIGURATION }
  return {
    async read() {
      try {
        const { metadata, data = {} } = await client.get<KubeObject & { data?: Record<string, string> }>(secret, ref)
        const texts = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')])
        return { version: metadata.resourceVersion ?? '', entries: Object.fromEntries(texts) }
      } catch (error) {
        if (isKubeError(error, 'NotFound')) return undefined
        throw error
      }
    },
    async replace(key, value, resourceVersion) {
      try {
        await client.mergePatch(secret, ref, { data: secretData({ [key]: value }) }, { resourceVersion })
        return true
      } catch (error) {
        if (isKubeError(error, 'Conflict', 'NotFound')) return false
        throw error
      }
    },
  }
}
