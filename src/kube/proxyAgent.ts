import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { ClusterAccess } from '../kubeconfig/access.ts'

/** Agent for requests that Node itself sends, such as upgrades: connects through the proxy of a kubeconfig. */
export function proxyAgentOf({ server, proxyUrl }: Pick<ClusterAccess, 'server' | 'proxyUrl'>): { agent?: HttpAgent } {
  if (proxyUrl === undefined) return {}
  // Given explicitly, so that proxy variables of the environment have no effect.
  const proxyEnv = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl }
  return { agent: server.startsWith('https:') ? new HttpsAgent({ proxyEnv }) : new HttpAgent({ proxyEnv }) }
}
