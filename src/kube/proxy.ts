import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { ClusterAccess } from '../kubeconfig/access.ts'

/** For requests that Node sends itself, as those for an upgrade: one connection through the proxy of a kubeconfig. */
export function agentOf({ server, proxyUrl }: Pick<ClusterAccess, 'server' | 'proxyUrl'>): { agent?: HttpAgent } {
  if (proxyUrl === undefined) return {}
  // Only what is said here: no variables of the process.
  const proxyEnv = { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl }
  return { agent: server.startsWith('https:') ? new HttpsAgent({ proxyEnv }) : new HttpAgent({ proxyEnv }) }
}
