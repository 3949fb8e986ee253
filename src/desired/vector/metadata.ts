import { vectorSelector } from '../../contracts/vector.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { ObjectMeta } from '../../core/object.ts'
import type { VectorInput } from './types.ts'

/** Labels of everything that belongs to a vector database; those of `vectorSelector` never change, as selectors cannot. */
export function labelsOf(input: Pick<VectorInput, 'cluster'>): Record<string, string> {
  return {
    ...vectorSelector(input.cluster.metadata.name),
    [MANAGED_BY_LABEL]: MANAGED_BY,
    'app.kubernetes.io/name': 'qdrant',
    'app.kubernetes.io/instance': input.cluster.metadata.name,
  }
}

export function metadataOf(
  input: Pick<VectorInput, 'cluster'>,
  name: string,
  annotations?: Record<string, string>,
): ObjectMeta {
  const { namespace = '' } = input.cluster.metadata
  return { name, namespace, labels: labelsOf(input), ...(annotations === undefined ? {} : { annotations }) }
}
