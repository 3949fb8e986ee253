import type { InstallValues } from '../../contracts/componentValues.ts'
import { INSTALL_CONFIGURATION } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent } from '../../kube/errors.ts'
import type { Rights } from '../engine/controller.ts'

/** The only platform Secret that may be read, by its name. */
export const CONFIGURATION_RIGHTS: Rights = {
  resource: secret,
  verbs: ['get'],
  resourceNames: [INSTALL_CONFIGURATION],
  in: 'system',
}

/** Reads what people have configured for components; only which entries exist and whether they changed matters. */
export async function storedConfiguration(
  client: Pick<KubeClient, 'get'>,
): Promise<{ version: string | undefined; entries: InstallValues }> {
  const ref = { namespace: SYSTEM_NAMESPACE, name: INSTALL_CONFIGURATION }
  const found = await client.get<SecretObject>(secret, ref).catch(absent)
  return { version: found?.metadata.resourceVersion, entries: found?.data ?? {} }
}
