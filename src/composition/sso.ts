import type { Federation } from '../adapters/identity/port.ts'
import { createOutgoing } from '../adapters/outgoing/client.ts'
import { kubeSecrets } from '../api/records/secrets.ts'
import type { SsoServices } from '../api/sso/record.ts'
import { kubeSsoSecrets } from '../api/sso/secrets.ts'
import type { Configuration } from '../config.ts'
import type { KubeClient } from '../kube/client.ts'

/** Single sign-on as the configuration says. Its `outgoing` is to be closed. */
export function ssoServices(
  { outgoingHosts, issuer }: Pick<Configuration, 'outgoingHosts' | 'issuer'>,
  client: KubeClient,
  federation: Federation,
): SsoServices & { outgoing: ReturnType<typeof createOutgoing> } {
  return {
    federation,
    outgoing: createOutgoing({ allowedHosts: outgoingHosts }),
    allowedHosts: outgoingHosts,
    secrets: { ...kubeSecrets(client), ...kubeSsoSecrets(client) },
    issuer,
  }
}
