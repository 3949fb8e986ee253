import type { RegistryPort } from '../adapters/registry/port.ts'
import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { KubeObject } from '../core/object.ts'
import { done, earliest } from '../core/outcome.ts'
import type { BoundaryProjection } from '../crds/projections.ts'
import type { Pass } from './engine/controller.ts'
import { ensurePullSecret } from './registry/pullSecret.ts'
import { RIGHTS_RETRY_MS, withSecretRights } from './workload/secrets.ts'

type PullSecretOptions = {
  registry: Pick<RegistryPort, 'host' | 'keys'> | undefined
  /** Collects errors of single groups. */
  failures: unknown[]
}

/**
 * Keeps the pull Secret of each group on the cluster.
 *
 * @returns milliseconds until the first must be renewed; undefined without any
 */
export async function keepPullSecrets(
  pass: Pass<typeof BoundaryProjection, unknown>,
  groups: readonly KubeObject[],
  { registry, failures }: PullSecretOptions,
): Promise<number | undefined> {
  const { boundaryId } = pass.scope
  if (registry === undefined || boundaryId === undefined) return undefined
  let turn: number | undefined
  for (const { metadata } of groups) {
    const { name, annotations } = metadata
    const incarnation = annotations?.[INCARNATION_ANNOTATION] ?? ''
    const failure = await captureError(async () => {
      const kept = await withSecretRights(async () =>
        done({ after: await ensurePullSecret(pass, registry, { boundaryId, name, incarnation }) }),
      )
      turn = earliest(turn, kept.after ?? RIGHTS_RETRY_MS)
    })
    if (failure !== undefined) failures.push(failure.error)
  }
  return turn
}

/** Returns an error instead of throwing, so that one namespace does not block the others. */
export async function captureError(work: () => Promise<void>): Promise<{ error: unknown } | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return { error }
  }
}
