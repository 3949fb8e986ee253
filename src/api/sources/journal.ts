import { type Delivery, type Journal, withDelivery } from '../../contracts/sources/journal.ts'
import { pauseAfterConflict } from '../../core/conflicts.ts'
import { PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import { Turns } from '../../core/turns.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** Where verified deliveries are written down, in the status of their source. */
export interface SourceJournal {
  /** False for a repeat. @throws PlatformError SERVICE_UNAVAILABLE, source-unknown */
  record(ref: { namespace: string; name: string }, delivery: Delivery): Promise<boolean>
}

const ATTEMPTS = 10

/**
 * Writes over exactly what was read, so that of two replicas that have the same delivery one finds it there. Deliveries
 * of a source take turns within this process: only other writers are in the way.
 */
export function kubeJournal(client: Pick<KubeClient, 'get' | 'mergePatch'>): SourceJournal {
  const turns = new Turns()
  return {
    record: (ref, delivery) => turns.take(`${ref.namespace}/${ref.name}`, () => write(client, ref, delivery)),
  }
}

type Stored = KubeObject & { spec: { installationId?: string }; status?: Journal }

async function write(
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
  ref: { namespace: string; name: string },
  delivery: Delivery,
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await pauseAfterConflict(attempt - 1)
    try {
      const { metadata, spec, status = {} } = await client.get<Stored>(DeploymentSource.resource, ref)
      const next = withDelivery(status, delivery, spec.installationId)
      if (next === undefined) return false
      const { uid, resourceVersion } = metadata
      const options = { subresource: 'status', uid, resourceVersion } as const
      await client.mergePatch(DeploymentSource.resource, ref, { status: next }, options)
      return true
    } catch (error) {
      if (isKubeError(error, 'NotFound')) throw new PlatformError('source-unknown', `Source "${ref.name}" is gone.`)
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }
  const message = 'Too many deliveries of this source come at once: send this one again.'
  throw new PlatformError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
}
