import type { KubeObject, Resource } from '../../core/object.ts'
import { certificate } from '../../kube/certmanager.ts'
import { knownResource } from '../../kube/known.ts'
import type { Pass } from '../engine/controller.ts'
import { removeKeysBut } from './certificates.ts'

/**
 * Writes the children that differ, concurrently, and returns them as stored. All writes have ended when it
 * returns or throws: the next pass over the same object must not meet them.
 */
export async function writeChildren(
  { children }: Pick<Pass, 'children'>,
  wanted: readonly KubeObject[],
): Promise<KubeObject[]> {
  const ended = await Promise.allSettled(
    wanted.map((desired) => children.ensure(desired, { resource: knownResource(desired) })),
  )
  return ended.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value.object
  })
}

/** Deletes the children of these types, if there are such, that are not wanted: they come and go with options of the spec. */
export async function pruneChildren(
  pass: Pick<Pass, 'children' | 'workloads'>,
  wanted: readonly KubeObject[],
  resources: readonly Resource[],
): Promise<void> {
  for (const resource of resources.filter((each) => pass.workloads.isServed(each))) {
    const names = wanted.filter(({ kind }) => kind === resource.kind).map(({ metadata }) => metadata.name)
    if (resource === certificate) await removeKeysBut(pass, names)
    await pass.children.prune(resource, names)
  }
}
