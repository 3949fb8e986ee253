import type { Configuration } from '../config.ts'
import { HostName } from '../crds/containerinstances.ts'

/** Names of Services, which nobody looks up at an Ingress. */
const INSIDE = /\.svc(\.|$)/

/**
 * Where the platform itself answers, and those that it believes, as the settings tell: whoever made one of them a custom
 * domain would be sent tokens, images or keys. Addresses and names without a dot are nobody's domain.
 */
export function platformHosts(configuration: Configuration): string[] {
  const { registryHost } = configuration
  const urls = Object.values(configuration).filter((value) => typeof value === 'string' && /^https?:\/\//.test(value))
  // As it stands in the names of images, where nodes take it from.
  const all = [...(urls as string[]), ...(registryHost === undefined ? [] : [`https://${registryHost}`])]
  const hosts = all.flatMap((url) => URL.parse(url)?.hostname ?? [])
  return [...new Set(hosts)].filter((host) => HostName.safeParse(host).success && !INSIDE.test(host))
}
