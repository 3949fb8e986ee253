import type { Resource } from './object.ts'

/** The route of the Gateway API that the platform writes; a cluster may lack it. */
export const httpRoute: Resource = {
  group: 'gateway.networking.k8s.io',
  version: 'v1',
  plural: 'httproutes',
  kind: 'HTTPRoute',
  namespaced: true,
  optional: true,
}
