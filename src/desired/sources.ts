import { sourceSecretName } from '../contracts/sources/providers.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { secretData } from '../core/secretData.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { DeploymentSource } from '../crds/sources.ts'

/** Kinds whose code may come from a source: they say so in this field. */
export const WITH_SOURCES = RESOURCE_KINDS.filter(({ spec }) => 'deploymentSourceId' in spec.shape)

/** The id of the source that a resource names. */
export function sourceOf({ spec }: KubeObject): string | undefined {
  return ((spec ?? {}) as { deploymentSourceId?: string }).deploymentSourceId
}

/** The platform's own Secret of a source; it goes with it. */
export function sourceSecret(
  { metadata }: Pick<DeploymentSource, 'metadata'>,
  entries: Readonly<Record<string, string>>,
): KubeObject & { data: Record<string, string> } {
  const { apiVersion, kind } = DeploymentSource
  const { name, namespace, uid = '' } = metadata
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: sourceSecretName(name),
      ...(namespace !== undefined && { namespace }),
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY },
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    type: 'Opaque',
    data: secretData(entries),
  } as KubeObject & { data: Record<string, string> }
}
