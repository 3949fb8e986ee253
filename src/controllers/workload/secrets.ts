import type { KubeObject } from '../../core/object.ts'
import { type Outcome, waiting } from '../../core/outcome.ts'
import { secret } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Pass } from '../engine/controller.ts'

export type SecretObject = KubeObject & { data?: Record<string, string> }

/** Milliseconds until the rights on Secrets of a new namespace are looked at again; no watch tells of them. */
export const RIGHTS_RETRY = 2_000

export function rightsMissing(): Outcome {
  return waiting('WaitingForGroup', 'The rights on Secrets of this namespace are not there yet.', RIGHTS_RETRY)
}

/** Does what needs the rights on Secrets, or waits for them: they come with the binding of a new group. */
export async function withSecretRights(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (!isKubeError(error, 'Forbidden')) throw error
    return rightsMissing()
  }
}

/** A Secret as the API server has it, past every cache: what is written over is lost. Undefined where there is none. */
export async function readSecret(
  { workloads }: Pick<Pass, 'workloads'>,
  namespace: string,
  name: string,
): Promise<SecretObject | undefined> {
  try {
    return await workloads.client.get<SecretObject>(secret, { namespace, name })
  } catch (error) {
    if (isKubeError(error, 'NotFound') && !error.typeMissing) return undefined
    throw error
  }
}
