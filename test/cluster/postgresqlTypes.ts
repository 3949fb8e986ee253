import { definitionsOf } from '../../scripts/controlplane/definitions.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'

const GROUP = 'genuine.example.com'

/**
 * The definitions of CloudNativePG as its release has them, under another group, because tests run with reduced ones.
 *
 * @throws Error if they cannot be had
 */
export async function genuinePostgresqlDefinitions(): Promise<KubeObject[]> {
  const found = await definitionsOf({
    ...{ tool: 'cloudnative-pg', module: 'github.com/cloudnative-pg/cloudnative-pg' },
    ...{ folder: 'config/crd/bases', cachedAs: 'cloudnative-pg' },
  })
  return found.map((definition) => {
    const { names, ...spec } = definition.spec as { names: { plural: string } }
    return { ...definition, metadata: { name: `${names.plural}.${GROUP}` }, spec: { ...spec, names, group: GROUP } }
  })
}

/** The same type and object under that group. */
export function genuine(
  resource: Resource,
  { kind, metadata: { name, namespace = '' }, spec }: KubeObject,
): [Resource, KubeObject] {
  return [
    { ...resource, group: GROUP },
    { apiVersion: `${GROUP}/${resource.version}`, kind, metadata: { name, namespace }, spec },
  ]
}
