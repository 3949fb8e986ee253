import type { InstallValues } from '../../contracts/componentValues.ts'
import { INSTALL_CONFIGURATION } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type SecretObject, secretData, secretTexts } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent, isKubeError } from '../../kube/errors.ts'
import { putSecret } from '../../kube/putSecret.ts'

/** Values that people set for components (Secret install-configuration), read from the API server each time. */
export interface InstallConfiguration {
  /** Returns no entries and no version if nothing has been set yet. */
  read(): Promise<{ readonly version: string | undefined; readonly entries: InstallValues }>
  /** Sets these entries and keeps the others. */
  put(entries: InstallValues): Promise<void>
  /** Sets one entry. @returns false if the version has changed */
  replace(key: string, value: string, version: string): Promise<boolean>
}

export function kubeInstallConfiguration(
  client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>,
): InstallConfiguration {
  const ref = { namespace: SYSTEM_NAMESPACE, name: INSTALL_CONFIGURATION }
  return {
    async read() {
      const found = await client.get<SecretObject>(secret, ref).catch(absent)
      return { version: found?.metadata.resourceVersion, entries: secretTexts(found?.data) }
    },
    // The Secret has no owner, because all components share it.
    put: (entries) => putSecret(client, ref, secretData(entries)),
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
