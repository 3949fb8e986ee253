import { BUILTIN_RESOURCES } from './builtin.ts'
import { certificate } from './certmanager.ts'
import { FLUX_RESOURCES } from './flux.ts'
import { httpRoute } from './gateway.ts'
import { apiVersionOf, type KubeObject, type Resource } from './object.ts'
import { POSTGRESQL_RESOURCES } from './postgresql.ts'
import { VELERO_RESOURCES } from './velero.ts'

const KNOWN: readonly Resource[] = [
  ...BUILTIN_RESOURCES,
  ...POSTGRESQL_RESOURCES,
  ...VELERO_RESOURCES,
  ...FLUX_RESOURCES,
  httpRoute,
  certificate,
]

/**
 * Returns the resource of a child that is about to be written: of Kubernetes itself, or of an operator that we support.
 *
 * @throws Error for an unknown type
 */
export function knownResource({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): Resource {
  const found = KNOWN.find((resource) => resource.kind === kind && apiVersionOf(resource) === apiVersion)
  if (found === undefined) throw new Error(`${apiVersion} ${kind} is not among the known kinds.`)
  return found
}
