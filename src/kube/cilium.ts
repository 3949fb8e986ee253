import { optionalResource } from './builtin.ts'
import type { Resource } from './object.ts'

export const ciliumNetworkPolicy = optionalResource('cilium.io', 'CiliumNetworkPolicy', {
  version: 'v2',
})
export const ciliumClusterwideNetworkPolicy = optionalResource('cilium.io', 'CiliumClusterwideNetworkPolicy', {
  version: 'v2',
  namespaced: false,
})

export const CILIUM_POLICIES: readonly Resource[] = [ciliumNetworkPolicy, ciliumClusterwideNetworkPolicy]
