import { optional } from './builtin.ts'

export const certificate = optional('cert-manager.io', 'Certificate')
