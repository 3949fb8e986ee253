import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformComponent } from '../../crds/lifecycle.ts'
import type { KubeClient } from '../../kube/client.ts'

/**
 * Sets the version that a component must run; its own controller tells Flux. `rolloutOf(component, wanted)` of the
 * contracts returns the progress, and a status change wakes the observers of PlatformComponent. Idempotent, so it may
 * be repeated after a crash.
 *
 * @param wanted `requestedAt` makes Flux retry the version it has
 * @throws KubeError NotFound if the component does not exist
 */
export async function setVersion(
  client: Pick<KubeClient, 'mergePatch'>,
  component: Pick<PlatformComponent, 'metadata' | 'spec'>,
  wanted: { readonly version: string; readonly requestedAt?: string | undefined },
): Promise<void> {
  const { version, requestedAt = component.spec.requestedAt } = wanted
  if (component.spec.version === version && component.spec.requestedAt === requestedAt) return
  const ref = { namespace: SYSTEM_NAMESPACE, name: component.metadata.name }
  await client.mergePatch(PlatformComponent.resource, ref, {
    spec: { version, ...(requestedAt !== undefined && { requestedAt }) },
  })
}
