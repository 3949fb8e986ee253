import type { KubeObject, Resource } from '../../core/object.ts'
import { certificate } from '../../kube/certmanager.ts'
import { knownResource } from '../../kube/knownResource.ts'
import type { Pass } from '../engine/controller.ts'
import { removeUnwantedCertSecrets } from './certificates.ts'

/**
 * Writes the children that differ, concurrently, and returns them as stored. All writes have ended when it returns or
 * throws, so that they do not overlap with the next pass.
 */
export async function writeChildren(
  { children }: Pick<Pass, 'children'>,
  wanted: readonly KubeObject[],
): Promise<KubeObject[]> {
  const results = await Promise.allSettled(
    wanted.map((desired) => children.ensure(desired, { resource: knownResource(desired) })),
  )
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value.object
  })
}

/** Deletes children of these kinds that are not wanted, as far as the API server serves the kinds. */
export async function pruneChildren(
  pass: Pick<Pass, 'children' | 'workloads'>,
  wanted: readonly KubeObject[],
  resources: readonly Resource[],
): Promise<void> {
  for (const resource of resources.filter((each) => pass.workloads.isServed(each))) {
    const names = wanted.filter(({ kind }) => kind === resource.kind).map(({ metadata }) => metadata.name)
    if (resource === certificate) await removeUnwantedCertSecrets(pass, names)
    await pass.children.prune(resource, names)
  }
}
