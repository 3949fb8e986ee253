import type { Federation } from '../adapters/identity/port.ts'
import { kubeSecrets } from '../api/records/secrets.ts'
import type { SsoServices } from '../api/sso/record.ts'
import { kubeSsoSecrets } from '../api/sso/secrets.ts'
import type { Configuration } from '../config.ts'
import type { KubeClient } from '../kube/client.ts'
import { openOutgoing } from './outgoing.ts'

/** Creates the services for single sign-on. The caller must close `outgoing`. */
export function ssoServices(
  configuration: Configuration,
  client: KubeClient,
  federation: Federation,
): SsoServices & { outgoing: ReturnType<typeof openOutgoing> } {
  const { outgoingHosts, issuer } = configuration
  return {
    federation,
    outgoing: openOutgoing(configuration),
    allowedHosts: outgoingHosts,
    secrets: { ...kubeSecrets(client), ...kubeSsoSecrets(client) },
    issuer,
  }
}
