import { type Delivery, type DeliveryJournal, withDelivery } from '../../contracts/sources/journal.ts'
import { PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import type { KubeClient } from '../../kube/client.ts'
import { createStatusWriter } from '../records/statusWriter.ts'

type Stored = KubeObject & { spec: { installationId?: string }; status?: DeliveryJournal }

/** Records verified deliveries in the status of their source, where another replica recognises a repeat. */
export function kubeJournal(client: Pick<KubeClient, 'get' | 'mergePatch'>) {
  const write = createStatusWriter<Stored>(client, DeploymentSource.resource, {
    gone: ({ name }) => new PlatformError('source-unknown', `Source "${name}" no longer exists.`),
    busy: 'Too many deliveries of this source arrive at once: send this one again.',
  })
  return {
    /** Returns false for a repeat. @throws PlatformError SERVICE_UNAVAILABLE, source-unknown */
    record: (ref: { namespace: string; name: string }, delivery: Delivery): Promise<boolean> =>
      write(ref, ({ spec, status = {} }) => {
        const next = withDelivery(status, delivery, spec.installationId)
        return { answer: next !== undefined, status: next }
      }),
  }
}
