import { encodeVectorKeys, type VectorKeys, vectorNames } from '../../contracts/vector.ts'
import { metadataOf } from './metadata.ts'
import type { Child, VectorInput } from './types.ts'

/** The Secret with the keys. They are generated elsewhere: this only lays them out. */
export function keySecret(
  input: Pick<VectorInput, 'cluster'>,
  keys: VectorKeys,
): Child<'Secret', { type: string; data: Record<string, string> }> {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataOf(input, vectorNames(input.cluster.metadata.name).keys),
    type: 'Opaque',
    data: encodeVectorKeys(keys),
  }
}
