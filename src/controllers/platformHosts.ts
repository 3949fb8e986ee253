import { MANAGED_BY, MANAGED_BY_LABEL, OWNER_KIND_LABEL } from '../core/labels.ts'
import type { Log } from '../core/log.ts'
import { claimName } from '../core/nameClaims.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { NameClaim } from '../crds/nameclaims.ts'
import type { KubeClient } from '../kube/client.ts'
import { ignoreKubeAlreadyExists } from '../kube/errors.ts'

/** Not an existing kind, so no resource's claim is mistaken for one of these. */
const HOLDER_KIND = 'Platform'

export const PLATFORM_HOSTS_RIGHTS = [{ resource: NameClaim.resource, verbs: ['list', 'create', 'delete'] }]

/**
 * Claims the platform's own hosts, so that no tenant uses one as a custom domain, and releases those no longer
 * configured. The leader runs this at start.
 */
export async function claimPlatformHosts(
  client: Pick<KubeClient, 'list' | 'create' | 'remove'>,
  hosts: readonly string[],
  log: Log,
): Promise<void> {
  const labelSelector = `${OWNER_KIND_LABEL}=${HOLDER_KIND}`
  const held = (await client.list<NameClaim & KubeObject>(NameClaim.resource, { labelSelector })).items
  for (const { metadata, spec } of held) {
    if (hosts.includes(spec.value)) continue
    await client.remove(NameClaim.resource, { name: metadata.name }, { uid: metadata.uid })
  }
  for (const host of hosts.filter((one) => held.every(({ spec }) => spec.value !== one))) {
    if ((await client.create(NameClaim.resource, claimOf(host)).catch(ignoreKubeAlreadyExists)) === undefined)
      log.warn({ host }, 'A resource has a host of the platform among its custom domains: see its NameClaim.')
  }
}

function claimOf(value: string): KubeObject {
  const holder = { kind: HOLDER_KIND, namespace: SYSTEM_NAMESPACE, name: 'platform', incarnation: 'platform' }
  return {
    apiVersion: NameClaim.apiVersion,
    kind: NameClaim.kind,
    metadata: {
      name: claimName('Host', value),
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [OWNER_KIND_LABEL]: HOLDER_KIND },
    },
    spec: { type: 'Host', value, holder },
  } as KubeObject
}
