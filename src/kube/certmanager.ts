import { optionalResource } from './builtin.ts'

export const certificate = optionalResource('cert-manager.io', 'Certificate')
