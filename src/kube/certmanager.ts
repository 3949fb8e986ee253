import { optional } from './builtin.ts'

/** The certificate of cert-manager that the platform asks for; a cluster may lack it. */
export const certificate = optional('cert-manager.io', 'Certificate')
