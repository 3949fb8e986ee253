import { optional } from './builtin.ts'

export const httpRoute = optional('gateway.networking.k8s.io', 'HTTPRoute')
