import { optional } from './builtin.ts'
import type { Resource } from './object.ts'

/** The policies of Cilium; a cluster may lack them. */
export const ciliumNetworkPolicy = optional('cilium.io', 'CiliumNetworkPolicy', 'ciliumnetworkpolicies', {
  version: 'v2',
})
export const ciliumClusterwideNetworkPolicy = optional(
  'cilium.io',
  'CiliumClusterwideNetworkPolicy',
  'ciliumclusterwidenetworkpolicies',
  { version: 'v2', namespaced: false },
)

export const CILIUM_POLICIES: readonly Resource[] = [ciliumNetworkPolicy, ciliumClusterwideNetworkPolicy]
