import { type KubeObject, type Resource, refOf } from '../../core/object.ts'
import type { Pass } from '../engine/controller.ts'

type Scaled = KubeObject & { spec: { replicas?: number } }

/**
 * Scales workloads to zero and changes nothing else, because their new templates may be unknown or refused.
 *
 * @returns the workloads as stored
 */
export async function scaleToZero<T extends Scaled>(
  pass: Pick<Pass, 'workloads'>,
  resource: Resource,
  made: readonly T[],
): Promise<T[]> {
  const stored: T[] = []
  for (const each of made) stored.push(await scaleTo(pass, resource, each, 0))
  return stored
}

/** Sets the replicas of a workload and changes nothing else. */
export async function scaleTo<T extends Scaled>(
  { workloads }: Pick<Pass, 'workloads'>,
  resource: Resource,
  made: T,
  replicas: number,
): Promise<T> {
  if (made.spec.replicas === replicas) return made
  const { uid } = made.metadata
  return workloads.client.mergePatch<T>(resource, refOf(made), { spec: { replicas } }, { uid })
}
