import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformComponent } from '../../crds/lifecycle.ts'
import type { KubeClient } from '../../kube/client.ts'

/**
 * How installs and rollouts change what runs: they write the version that a component is to have, and its own controller
 * tells Flux. `rolloutOf(component, wanted)` of the contracts then says how far it has come; a change of its status wakes whoever observes
 * PlatformComponent. Writing the same again changes nothing, so it may be repeated after a crash.
 *
 * @param wanted `requestedAt` lets Flux try again with the version that it has
 * @throws KubeError NotFound if there is no such component
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
