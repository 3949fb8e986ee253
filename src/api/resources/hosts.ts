import { defaultHost } from '../../contracts/workloads.ts'
import { badRequest } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { clusterWords } from './places.ts'
import { holderOf, hostTaken } from './platformNames.ts'
import type { WriteView } from './types.ts'

/** What a spec says of its public hosts. */
type Hosting = { isPublic: boolean; customDomains: readonly string[]; clusterId?: string | undefined }

/** @throws PlatformError BAD_REQUEST, HOST_TAKEN */
export function refuseTakenHosts(
  { kind, segment }: AnyKind,
  { isPublic, customDomains, clusterId }: Hosting,
  { services, boundaryId, resourceGroup, name }: Pick<WriteView, 'services' | 'boundaryId' | 'resourceGroup' | 'name'>,
): void {
  const namespace = groupNamespace(boundaryId, resourceGroup)
  const { domain } = clusterWords(services, boundaryId, clusterId)
  if (!isPublic) return
  for (const host of customDomains) {
    if (host === domain || host.endsWith(`.${domain}`)) {
      const message = `must not lie below "${domain}", whose hosts the platform gives`
      throw badRequest(`Custom domain "${host}" ${message}.`, [{ field: 'customDomains', message }])
    }
  }
  for (const host of [defaultHost(segment, namespace, name, domain), ...customDomains]) {
    const holder = holderOf(services, 'Host', host)
    const isOurs = holder?.kind === kind && holder.namespace === namespace && holder.name === name
    if (holder === undefined || isOurs) continue
    throw hostTaken(host, 'customDomains')
  }
}
