import { optional } from './builtin.ts'

/** The route of the Gateway API that the platform writes; a cluster may lack it. */
export const httpRoute = optional('gateway.networking.k8s.io', 'HTTPRoute')
