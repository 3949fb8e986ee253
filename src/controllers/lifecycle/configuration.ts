import type { Configuration } from '../../contracts/componentValues.ts'
import { INSTALL_CONFIGURATION } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Rights } from '../engine/controller.ts'

/** Of the Secrets of the platform only this one, by its name. */
export const CONFIGURATION_RIGHTS: readonly Rights[] = [
  { resource: secret, verbs: ['get'], resourceNames: [INSTALL_CONFIGURATION], in: 'system' },
]

/** What people gave to components, as it is stored: only which entries there are counts here. */
export async function storedConfiguration(client: Pick<KubeClient, 'get'>): Promise<Configuration> {
  const ref = { namespace: SYSTEM_NAMESPACE, name: INSTALL_CONFIGURATION }
  try {
    return (await client.get<KubeObject & { data?: Record<string, string> }>(secret, ref)).data ?? {}
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return {}
    throw error
  }
}
