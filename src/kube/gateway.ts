import { optionalResource } from './builtin.ts'

export const httpRoute = optionalResource('gateway.networking.k8s.io', 'HTTPRoute')
