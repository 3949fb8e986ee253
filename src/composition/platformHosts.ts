import type { Configuration } from '../config.ts'
import { HostName } from '../crds/containerinstances.ts'

/** Names of Services, which an Ingress never serves. */
const CLUSTER_HOST = /\.svc(\.|$)/

/**
 * Returns the hosts of the platform and of the systems that it trusts, from the settings. As a tenant's custom domain,
 * such a host would receive tokens, images or keys. IP addresses and names without a dot cannot be custom domains.
 */
export function platformHosts(configuration: Configuration): string[] {
  const { registryHost } = configuration
  const urls = Object.values(configuration).filter((value) => typeof value === 'string' && /^https?:\/\//.test(value))
  // The host in image names, from which nodes pull.
  const all = [...(urls as string[]), ...(registryHost === undefined ? [] : [`https://${registryHost}`])]
  const hosts = all.flatMap((url) => URL.parse(url)?.hostname ?? [])
  return [...new Set(hosts)].filter((host) => HostName.safeParse(host).success && !CLUSTER_HOST.test(host))
}
