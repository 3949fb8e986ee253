import type { ClusterAccess, TlsMaterial } from '../../src/kubeconfig/access.ts'

/** Access to a server with credentials that never change. */
export function staticAccess(options: {
  server: string
  token?: string
  tls?: TlsMaterial
  namespace?: string
}): ClusterAccess {
  const tls = options.tls ?? {}
  const header = options.token === undefined ? undefined : `Bearer ${options.token}`
  return {
    server: options.server.replace(/\/+$/, ''),
    namespace: options.namespace ?? 'default',
    proxyUrl: undefined,
    tls: async () => tls,
    authorization: async () => header,
    refresh: () => {},
  }
}
