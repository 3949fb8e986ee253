import type { KubeObject, Resource } from '../../core/object.ts'
import { knownResource } from '../../kube/known.ts'
import type { Pass } from '../engine/controller.ts'

/** Writes the children that differ, in this order, and answers them as they are stored. */
export async function writeChildren(
  { children }: Pick<Pass, 'children'>,
  wanted: readonly KubeObject[],
): Promise<KubeObject[]> {
  const written: KubeObject[] = []
  for (const desired of wanted) {
    const { object } = await children.ensure(desired, { resource: knownResource(desired) })
    written.push(object)
  }
  return written
}

/** Deletes the children of these types that are not wanted: they come and go with options of the spec. */
export async function pruneChildren(
  { children }: Pick<Pass, 'children'>,
  wanted: readonly KubeObject[],
  resources: readonly Resource[],
): Promise<void> {
  for (const resource of resources) {
    const names = wanted.filter(({ kind }) => kind === resource.kind).map(({ metadata }) => metadata.name)
    await children.prune(resource, names)
  }
}
