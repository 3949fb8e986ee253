import { type KubeObject, type Resource, refOf } from '../../core/object.ts'
import type { Pass } from '../engine/controller.ts'

type Scaled = KubeObject & { spec: { replicas?: number } }

/**
 * Takes the copies of workloads away and changes nothing else of them: what they would become may not be known, or be refused.
 *
 * @returns them as stored
 */
export async function scaleToZero<T extends Scaled>(
  { workloads }: Pick<Pass, 'workloads'>,
  resource: Resource,
  made: readonly T[],
): Promise<T[]> {
  const stored: T[] = []
  for (const each of made) {
    const { uid } = each.metadata
    const patch = { spec: { replicas: 0 } }
    const isDown = each.spec.replicas === 0
    stored.push(isDown ? each : await workloads.client.mergePatch<T>(resource, refOf(each), patch, { uid }))
  }
  return stored
}
