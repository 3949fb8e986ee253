import type { Resource } from './object.ts'

/** The certificate of cert-manager that the platform asks for; a cluster may lack it. */
export const certificate: Resource = {
  group: 'cert-manager.io',
  version: 'v1',
  plural: 'certificates',
  kind: 'Certificate',
  namespaced: true,
  optional: true,
}
