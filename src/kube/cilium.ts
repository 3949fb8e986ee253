import type { Resource } from './object.ts'

function optional(kind: string, plural: string, namespaced: boolean): Resource {
  return { group: 'cilium.io', version: 'v2', plural, kind, namespaced, optional: true }
}

/** The policies of Cilium; a cluster may lack them. */
export const ciliumNetworkPolicy = optional('CiliumNetworkPolicy', 'ciliumnetworkpolicies', true)
export const ciliumClusterwideNetworkPolicy = optional(
  'CiliumClusterwideNetworkPolicy',
  'ciliumclusterwidenetworkpolicies',
  false,
)

export const CILIUM_POLICIES: readonly Resource[] = [ciliumNetworkPolicy, ciliumClusterwideNetworkPolicy]
